-- One delivery with all that it holds.
select d.id, d.channel, d.recipient, d.status, d.attempts, d.max_attempts, d.created_at,
       d.next_attempt_at, d.attempted_at, d.settled_at, d.settle_class, d.last_error,
       d.idempotency_key, d.holder, d.lease_expires_at, d.payload
  from notifications.notification_deliveries as d
 where d.id = %(id)s
