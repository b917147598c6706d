-- What became of each attempt, why a delivery ended, and a request that nobody edits.

-- One row an attempt that has ended, written by the statement that ends it (settle, release,
-- reap), and one more for each write that came too late. While an attempt runs, the delivery
-- itself says who holds it and since when; the view below puts both together.
create table notifications.delivery_attempts (
    entry       bigint      generated always as identity,
    delivery_id bigint      not null,
    attempt     integer     not null,
    -- Who held it; of a late write, who wrote it. Null if an operator wrote by hand.
    holder      text,
    claimed_at  timestamptz,
    ended_at    timestamptz not null default clock_timestamp(),
    outcome     text        not null
                check (outcome in ('sent', 'failed', 'refused', 'released', 'lost')),
    -- Finer than the outcome: 'timeout', 'channel-down', 'retry-later', a receiver's refusal, …
    class       text,
    error       text,
    provider_id text,
    -- What the database made of the write. After 'refused' nothing but this row was written.
    verdict     text        not null default 'applied'
                check (verdict in ('applied', 'late', 'refused')),
    primary key (delivery_id, attempt, entry)
) with (
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_insert_scale_factor = 0.1,
    autovacuum_vacuum_cost_delay = 0
);

-- Attempts go with their delivery. A foreign key would do the same, but it looks the delivery up
-- and locks it once more for each attempt that is written; every writer here holds it already.
create function notifications.forget_attempts() returns trigger
    language plpgsql as $$
begin
    delete from notifications.delivery_attempts as a
     using removed as r
     where a.delivery_id = r.id;
    return null;
end
$$;

create function notifications.forget_all_attempts() returns trigger
    language plpgsql as $$
begin
    truncate notifications.delivery_attempts;
    return null;
end
$$;

create trigger attempts_deleted after delete on notifications.notification_deliveries
    referencing old table as removed
    for each statement execute function notifications.forget_attempts();

create trigger attempts_truncated after truncate on notifications.notification_deliveries
    for each statement execute function notifications.forget_all_attempts();

-- Why a delivery ended without being sent: 'refused' (by the receiver), 'exhausted' (its last
-- attempt failed), 'lease-lost' (the worker of its last attempt vanished), 'cancelled' (by an
-- operator). Null while it has not ended, and when it was sent.
alter table notifications.notification_deliveries
    add column settle_class text,
    add constraint only_an_end_has_a_class
        check (settle_class is null or status in ('failed', 'dead'));

-- A retry sends what the first attempt sent. The trigger looks only at statements that set one of
-- these columns, so it costs the others nothing.
create function notifications.refuse_changed_request() returns trigger
    language plpgsql as $$
begin
    raise exception 'channel, recipient and payload of delivery % may not change', old.id
        using errcode = 'check_violation',
              hint = 'Every attempt sends the same. Cancel this delivery and enqueue another.';
end
$$;

create trigger request_never_changes
    before update of channel, recipient, payload on notifications.notification_deliveries
    for each row
    when ((new.channel, new.recipient, new.payload)
          is distinct from (old.channel, old.recipient, old.payload))
    execute function notifications.refuse_changed_request();

-- Every attempt, the one that runs included (its ended_at and outcome are null).
create view notifications.attempts as
select delivery_id, attempt, holder, claimed_at, ended_at, outcome, class, error, provider_id,
       verdict, entry
  from notifications.delivery_attempts
 union all
select id, attempts, holder, attempted_at, null, null, null, null, null, null, null
  from notifications.notification_deliveries
 where status = 'processing';
