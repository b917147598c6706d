-- What failed or is dead, latest first, before the position given.
select d.id, d.channel, d.recipient, d.status, d.attempts, d.max_attempts, d.created_at,
       d.next_attempt_at, d.attempted_at, d.settled_at, d.settle_class, d.last_error,
       d.idempotency_key, d.holder, d.lease_expires_at
  from notifications.notification_deliveries as d
 where d.status in ('failed', 'dead')
   and d.status = %(status)s
   and (%(id)s::bigint is null or (d.settled_at, d.id) < (%(at)s::timestamptz, %(id)s))
   and (%(channel)s::text is null or d.channel = %(channel)s)
 order by d.settled_at desc, d.id desc
 limit %(limit)s
