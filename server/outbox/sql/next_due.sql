-- Seconds until the next delivery of these channels falls due or the next lease runs out;
-- null when there is neither. A paused channel is nothing to wait for: its end is notified.
select extract(epoch from min(at) - clock_timestamp())::float8 as seconds
  from (
        (select head.at
           from unnest(%(channels)s::text[]) as c(channel)
          cross join lateral (
                select next_attempt_at as at
                  from notifications.notification_deliveries
                 where status = 'pending'
                   and channel = c.channel
                 order by next_attempt_at, created_at, id
                 limit 1) as head
          where c.channel not in (select channel from notifications.paused_channels))
        union all
        (select min(lease_expires_at)
           from notifications.notification_deliveries
          where status = 'processing')
       ) as upcoming
