-- Appends what the deltas lack. To be run while nobody writes (operations.mend_depth locks).
with counted as (
    select status, count(*) as rows
      from notifications.notification_deliveries
     group by status
),
said as (
    select status, sum(change) as rows
      from notifications.depth_deltas
     group by status
)
insert into notifications.depth_deltas (status, change)
select status, coalesce(c.rows, 0) - coalesce(s.rows, 0)
  from counted as c
  full join said as s using (status)
 where coalesce(c.rows, 0) <> coalesce(s.rows, 0)
returning status, change
