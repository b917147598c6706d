-- Takes up to %(limit)s due deliveries for %(holder)s and counts the attempt.
--
-- Each channel's head is read by itself, in the order of its index, and the heads are merged. So
-- rows of channels that are paused, or that this worker does not know or leaves alone for a while,
-- are never read, however many are due before the first that is taken.
--
-- The pick is materialised and its ids are fetched as an array: as a plain sub-select in FROM the
-- planner may run it again for each outer row and so claim more than the limit. Rows that somebody
-- else has locked are skipped. What a channel offers beyond the limit in all stays locked until
-- the end of this transaction, and is then as due as before.
with due as materialized (
    select head.id
      from unnest(%(channels)s::text[]) as c(channel)
     cross join lateral (
           select id, next_attempt_at, created_at
             from notifications.notification_deliveries
            where status = 'pending'
              and channel = c.channel
              and next_attempt_at <= statement_timestamp()
            order by next_attempt_at, created_at, id
            limit %(limit)s
              for update skip locked) as head
     where c.channel not in (select channel from notifications.paused_channels)
     order by head.next_attempt_at, head.created_at, head.id
     limit %(limit)s
)
update notifications.notification_deliveries as d
   set status = 'processing',
       attempts = d.attempts + 1,
       attempted_at = clock_timestamp(),
       holder = %(holder)s,
       lease_expires_at = clock_timestamp() + make_interval(secs => %(lease_s)s)
 where d.id = any(array(select id from due))
returning d.id, d.channel, d.recipient, d.payload, d.attempts as attempt, d.max_attempts,
          d.idempotency_key, d.created_at, d.next_attempt_at as due_at, d.lease_expires_at
