-- What waits, in the order in which it falls due, after the position given. Every pending row has
-- attempts left; saying so names the index by time.
select d.id, d.channel, d.recipient, d.status, d.attempts, d.max_attempts, d.created_at,
       d.next_attempt_at, d.attempted_at, d.settled_at, d.settle_class, d.last_error,
       d.idempotency_key, d.holder, d.lease_expires_at
  from notifications.notification_deliveries as d
 where d.status = 'pending'
   and d.attempts < d.max_attempts
   and (%(id)s::bigint is null or (d.next_attempt_at, d.id) > (%(at)s::timestamptz, %(id)s))
   and (%(channel)s::text is null or d.channel = %(channel)s)
 order by d.next_attempt_at, d.id
 limit %(limit)s
