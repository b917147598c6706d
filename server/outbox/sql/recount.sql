-- Counts every row by status. Costs a scan of the table: it checks the deltas, it does not
-- replace them.
select status, count(*) as rows
  from notifications.notification_deliveries
 group by status
