-- Ends deliveries that wait. What a worker holds is not touched: it may have been sent already.
with chosen as materialized (
    select id
      from notifications.notification_deliveries
     where id = any(%(ids)s::bigint[])
       and status = 'pending'
     order by id
       for update
)
update notifications.notification_deliveries as d
   set status = 'failed',
       settled_at = clock_timestamp(),
       settle_class = 'cancelled',
       last_error = 'cancelled by an operator'
  from chosen
 where d.id = chosen.id
returning d.id
