-- Adds deliveries in the order given, within the caller's transaction. One whose idempotency key
-- exists already is skipped (find_by_key.sql finds it). A time that has passed means now, so that
-- nothing gets ahead of what waits by naming an earlier one.
insert into notifications.notification_deliveries
       (channel, recipient, payload, idempotency_key, max_attempts, next_attempt_at)
select channel, recipient, payload, idempotency_key, %(max_attempts)s,
       greatest(send_at, clock_timestamp() + make_interval(secs => delay_s))
  from unnest(%(channels)s::text[], %(recipients)s::text[], %(payloads)s::jsonb[],
              %(keys)s::text[], %(delays_s)s::float8[], %(times)s::timestamptz[])
       with ordinality as n(channel, recipient, payload, idempotency_key, delay_s, send_at, place)
 order by place
    on conflict (idempotency_key) where idempotency_key is not null do nothing
returning id, idempotency_key
