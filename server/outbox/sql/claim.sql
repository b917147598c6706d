-- Takes up to %(limit)s due deliveries for %(holder)s and counts the attempt.
--
-- The pick is materialised: as a plain sub-select in FROM the planner may run it again for each
-- outer row and so claim more than the limit. Rows that somebody else has locked are skipped.
-- Only channels that this worker knows are taken; the rest is left for a worker that does. Those
-- that an operator has paused are left as well. They are taken off the list rather than compared
-- with each row: of `<> all (…)` the planner thinks that hardly a row passes, and sorts them all.
with due as materialized (
    select id
      from notifications.notification_deliveries
     where status = 'pending'
       and next_attempt_at <= statement_timestamp()
       and channel = any(array(select unnest(%(channels)s::text[])
                               except select channel from notifications.paused_channels))
     order by next_attempt_at, created_at, id
     limit %(limit)s
       for update skip locked
)
update notifications.notification_deliveries as d
   set status = 'processing',
       attempts = d.attempts + 1,
       attempted_at = clock_timestamp(),
       holder = %(holder)s,
       lease_expires_at = clock_timestamp() + make_interval(secs => %(lease_s)s)
  from due
 where d.id = due.id
returning d.id, d.channel, d.recipient, d.payload, d.attempts as attempt, d.max_attempts,
          d.idempotency_key, d.created_at, d.next_attempt_at as due_at, d.lease_expires_at
