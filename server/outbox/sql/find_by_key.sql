-- The deliveries that carry one of these idempotency keys.
select id, idempotency_key
  from notifications.notification_deliveries
 where idempotency_key = any(%(keys)s::text[])
