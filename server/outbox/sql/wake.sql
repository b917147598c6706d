-- Wakes the workers when the caller's transaction commits. A hint only: they poll as well.
select pg_notify('notification_deliveries', '')
