-- The outbox: one row a delivery, its state, its lease and its fence.

create schema if not exists notifications;

create table notifications.notification_deliveries (
    id               bigint generated always as identity primary key,
    channel          text        not null check (channel <> ''),
    recipient        text        not null check (recipient <> ''),
    payload          jsonb       not null,
    status           text        not null default 'pending'
                     check (status in ('pending', 'processing', 'sent', 'failed', 'dead')),
    -- The fencing token. It rises by one at each claim and never falls (trigger below).
    attempts         integer     not null default 0 check (attempts >= 0),
    max_attempts     integer     not null default 5 check (max_attempts >= 1),
    next_attempt_at  timestamptz not null default clock_timestamp(),
    attempted_at     timestamptz,
    created_at       timestamptz not null default clock_timestamp(),
    settled_at       timestamptz,
    last_error       text,
    idempotency_key  text unique,
    holder           text,
    -- In no index, so that extending a lease can stay a heap-only update.
    lease_expires_at timestamptz,

    constraint processing_is_leased
        check ((status = 'processing') = (lease_expires_at is not null)
           and (status = 'processing') = (holder is not null)),
    constraint final_is_settled
        check ((status in ('sent', 'failed', 'dead')) = (settled_at is not null)),
    constraint attempts_within_budget
        check (attempts <= max_attempts),
    -- A pending row that may not be claimed any more would be invisible for ever.
    constraint pending_can_be_claimed
        check (status <> 'pending' or attempts < max_attempts)
) with (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 500,
    autovacuum_analyze_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 0
);

-- The predicates below are written literally in the statements that use them.
create index notification_deliveries_pending
    on notifications.notification_deliveries (next_attempt_at, created_at, id)
    where status = 'pending';

create index notification_deliveries_processing
    on notifications.notification_deliveries (id)
    where status = 'processing';

create function notifications.refuse_falling_attempts() returns trigger
    language plpgsql as $$
begin
    raise exception 'attempts of delivery % may not fall from % to %',
        old.id, old.attempts, new.attempts
        using errcode = 'check_violation',
              hint = 'attempts is the fencing token; raise max_attempts instead.';
end
$$;

create trigger attempts_never_fall
    before update on notifications.notification_deliveries
    for each row when (new.attempts < old.attempts)
    execute function notifications.refuse_falling_attempts();
