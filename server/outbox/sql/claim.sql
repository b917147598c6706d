-- Takes up to %(limit)s due deliveries for %(holder)s, in the order in which they are to be sent.
-- The statement stands in the function (schema.sql), where PostgreSQL keeps its plan.
select id, channel, recipient, payload::text, attempt, max_attempts, idempotency_key, created_at,
       due_at, lease_expires_at
  from notifications.claim(%(holder)s, %(channels)s, %(limit)s, %(lease_s)s)
