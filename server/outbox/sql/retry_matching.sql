-- The same for up to %(limit)s deliveries of one status, oldest first, by channel, by class of the
-- end and by the time it came, as far as they are given. Rows that others work on are left out.
with chosen as materialized (
    select id
      from notifications.notification_deliveries
     where status in ('failed', 'dead')
       and status = %(status)s
       and (%(channel)s::text is null or channel = %(channel)s)
       and (%(settle_class)s::text is null or settle_class = %(settle_class)s)
       and (%(settled_since)s::timestamptz is null or settled_at >= %(settled_since)s)
       and (%(settled_before)s::timestamptz is null or settled_at < %(settled_before)s)
     order by settled_at, id
     limit %(limit)s
       for update skip locked
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
