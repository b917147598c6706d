-- Gives deliveries that ended as failed or dead another chance: due now, with room for at least
-- %(more)s further attempts. The attempt is a fence and stays, so the budget grows instead.
with chosen as materialized (
    select id
      from notifications.notification_deliveries
     where id = any(%(ids)s::bigint[])
       and status in ('failed', 'dead')
     order by id
       for update
)
update notifications.notification_deliveries as d
   set status = 'pending',
       next_attempt_at = clock_timestamp(),
       settled_at = null,
       settle_class = null,
       max_attempts = greatest(d.max_attempts, d.attempts + %(more)s)
  from chosen
 where d.id = chosen.id
returning d.id
