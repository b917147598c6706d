-- What older code needs and nothing else: the index that its claim reads, and the constraint that
-- its enqueue names.

drop index notifications.notification_deliveries_pending;

alter table notifications.notification_deliveries
    drop constraint notification_deliveries_idempotency_key_key;
