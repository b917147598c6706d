-- What happens to deliveries, one row a delivery and change, for whoever watches.
--
-- Writing it costs, so it is written only while somebody wants it: until `recorded_until`, which
-- whoever watches moves on. Otherwise each statement looks at that one row and writes nothing.

create table notifications.event_log (
    only_row       boolean     primary key default true check (only_row),
    recorded_until timestamptz not null,
    -- Of transactions up to this one, events are missing: deleted, or never written.
    purged         xid8        not null
) with (fillfactor = 50);

create table notifications.delivery_events (
    -- The transaction that wrote the row. A reader knows by its snapshot which transactions it has
    -- seen; what comes after it is whatever the others wrote, in the order of `seq`.
    written_by       xid8        not null default pg_current_xact_id(),
    seq              bigint      generated always as identity primary key,
    at               timestamptz not null default clock_timestamp(),
    -- Who wrote: 'enqueue', a worker ('claim', 'extend', 'settle', 'release', 'refuse', when its
    -- late write was refused), the reaper ('reap'), an operator ('retry', 'cancel'), or somebody
    -- by hand ('edit').
    change           text        not null,
    delivery_id      bigint      not null,
    channel          text        not null,
    from_status      text,
    to_status        text        not null,
    -- Of a refused write the attempt that wrote; `current_attempt` is then that of the delivery.
    attempt          integer     not null,
    current_attempt  integer     not null,
    max_attempts     integer     not null,
    -- Who holds it now, or held it until now; of a refused write, who wrote.
    holder           text,
    lease_expires_at timestamptz,
    next_attempt_at  timestamptz not null,
    -- How the attempt ended, as in delivery_attempts; null while it goes on.
    outcome          text,
    class            text,
    error            text,
    verdict          text
) with (
    autovacuum_vacuum_scale_factor = 0.1,
    autovacuum_vacuum_cost_delay = 0
);

create index delivery_events_written_by on notifications.delivery_events (written_by);

-- These run with the rights of whoever made the schema: a program that writes deliveries need not
-- have any on the log, and goes on when the log comes with a later version than its own.
create function notifications.tell_added() returns trigger
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if exists (select from notifications.event_log
                where recorded_until > statement_timestamp()) then
        insert into notifications.delivery_events
               (change, delivery_id, channel, to_status, attempt, current_attempt, max_attempts,
                next_attempt_at)
        select 'enqueue', id, channel, status, attempts, attempts, max_attempts, next_attempt_at
          from added
         order by id;
        if found then
            perform pg_notify('delivery_events', '');
        end if;
    end if;
    return null;
end
$$;

-- What the change was is read off both rows, and where an attempt ended off the attempt log, which
-- the same statement has written.
create function notifications.tell_changed() returns trigger
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if exists (select from notifications.event_log
                where recorded_until > statement_timestamp()) then
        insert into notifications.delivery_events
               (change, delivery_id, channel, from_status, to_status, attempt, current_attempt,
                max_attempts, holder, lease_expires_at, next_attempt_at,
                outcome, class, error, verdict)
        select case when r.status = 'processing' and a.status = 'processing' then 'extend'
                    when a.status = 'processing' then 'claim'
                    when r.status in ('failed', 'dead') and a.status = 'pending' then 'retry'
                    when a.settle_class = 'cancelled' then 'cancel'
                    when e.outcome = 'lost' then 'reap'
                    when e.outcome = 'released' then 'release'
                    when e.outcome is not null then 'settle'
                    else 'edit'
               end,
               a.id, a.channel, r.status, a.status, a.attempts, a.attempts, a.max_attempts,
               coalesce(a.holder, r.holder), a.lease_expires_at, a.next_attempt_at,
               e.outcome, e.class, left(e.error, 300), e.verdict
          from removed as r
          join added as a using (id)
          left join lateral (
               select outcome, class, error, verdict
                 from notifications.delivery_attempts
                where delivery_id = a.id
                  and attempt = a.attempts
                  and verdict <> 'refused'
                order by entry desc
                limit 1) as e
            on a.status <> 'processing' and (r.status = 'processing' or a.status = 'sent')
         where r.status <> a.status
            or r.lease_expires_at is distinct from a.lease_expires_at
            or r.next_attempt_at <> a.next_attempt_at
         order by a.id;
        if found then
            perform pg_notify('delivery_events', '');
        end if;
    end if;
    return null;
end
$$;

create function notifications.tell_refused() returns trigger
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if exists (select from notifications.event_log
                where recorded_until > statement_timestamp()) then
        insert into notifications.delivery_events
               (change, delivery_id, channel, from_status, to_status, attempt, current_attempt,
                max_attempts, holder, next_attempt_at, outcome, class, error, verdict)
        select 'refuse', d.id, d.channel, d.status, d.status, new.attempt, d.attempts,
               d.max_attempts, new.holder, d.next_attempt_at,
               new.outcome, new.class, left(new.error, 300), new.verdict
          from notifications.notification_deliveries as d
         where d.id = new.delivery_id;
        perform pg_notify('delivery_events', '');
    end if;
    return null;
end
$$;

create trigger events_added after insert on notifications.notification_deliveries
    referencing new table as added
    for each statement execute function notifications.tell_added();

create trigger events_changed after update on notifications.notification_deliveries
    referencing old table as removed new table as added
    for each statement execute function notifications.tell_changed();

create trigger events_refused after insert on notifications.delivery_attempts
    for each row when (new.verdict = 'refused')
    execute function notifications.tell_refused();
