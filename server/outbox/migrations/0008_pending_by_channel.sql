-- Indexes for the claim, which reads each channel's head by itself; and for idempotency keys, of
-- which most deliveries have none. What they replace goes in 0009, once no older code runs.
--
-- Making an index holds off writers while it reads the table. Where that takes too long, make them
-- beforehand with "create index concurrently" under the same names; then this does nothing.

create index if not exists notification_deliveries_by_channel
    on notifications.notification_deliveries (channel, next_attempt_at, created_at, id)
    where status = 'pending';

-- Across all channels, for the depth and for lists. Of its predicate the second half is true of
-- every pending row; only what says so can use the index, and the claim must not be tempted to.
create index if not exists notification_deliveries_by_time
    on notifications.notification_deliveries (next_attempt_at)
    where status = 'pending' and attempts < max_attempts;

create unique index if not exists notification_deliveries_key
    on notifications.notification_deliveries (idempotency_key)
    where idempotency_key is not null;
