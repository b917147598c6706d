-- The schema as it is now: the sum of the migrations, for reading. Nothing runs this file but the
-- test that compares it with that sum; a migration that changes the schema changes it here too.

-- One row a delivery, its state, its lease and its fence.

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
    -- Why it ended without being sent: 'refused' (by the receiver), 'exhausted' (its last attempt
    -- failed), 'lease-lost' (the worker of its last attempt vanished), 'cancelled' (by an operator).
    settle_class     text,
    idempotency_key  text,
    holder           text,
    -- In no index, so that extending a lease can stay a heap-only update.
    lease_expires_at timestamptz,

    constraint processing_is_leased
        check ((status = 'processing') = (lease_expires_at is not null)
           and (status = 'processing') = (holder is not null)),
    constraint final_is_settled
        check ((status in ('sent', 'failed', 'dead')) = (settled_at is not null)),
    constraint only_an_end_has_a_class
        check (settle_class is null or status in ('failed', 'dead')),
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

-- The predicates below are written literally in the statements that use them. The claim reads
-- each channel's head by itself, so that it never reads rows that it would not take.
create index notification_deliveries_by_channel
    on notifications.notification_deliveries (channel, next_attempt_at, created_at, id)
    where status = 'pending';

-- Across all channels, for the depth and for lists. Of its predicate the second half is true of
-- every pending row; only what says so can use the index, and the claim must not be tempted to.
create index notification_deliveries_by_time
    on notifications.notification_deliveries (next_attempt_at)
    where status = 'pending' and attempts < max_attempts;

-- Most deliveries have no key.
create unique index notification_deliveries_key
    on notifications.notification_deliveries (idempotency_key)
    where idempotency_key is not null;

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

-- Exact counts by status that cost the same however many rows there are.
--
-- Each statement that changes deliveries appends what it changed, in its own transaction; nobody
-- updates a shared counter, so writers never wait for one another. The sum by status is the depth.
-- The reaper folds the appended rows together now and then (sql/fold.sql).

create table notifications.depth_deltas (
    id     bigint generated always as identity primary key,
    status text   not null,
    change bigint not null
) with (
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 200,
    autovacuum_vacuum_cost_delay = 0
);

create function notifications.note_inserted() returns trigger
    language plpgsql as $$
begin
    insert into notifications.depth_deltas (status, change)
    select status, count(*) from added group by status;
    return null;
end
$$;

create function notifications.note_updated() returns trigger
    language plpgsql as $$
begin
    insert into notifications.depth_deltas (status, change)
    select status, sum(change)
      from (select status, 1 as change from added
            union all
            select status, -1 from removed) as moved
     group by status
    having sum(change) <> 0;
    return null;
end
$$;

create function notifications.note_deleted() returns trigger
    language plpgsql as $$
begin
    insert into notifications.depth_deltas (status, change)
    select status, -count(*) from removed group by status;
    return null;
end
$$;

-- TRUNCATE holds an exclusive lock until it commits, so the sums seen here are final. They are
-- cancelled by their negative rather than deleted: a fold at the same moment would put them back.
create function notifications.note_truncated() returns trigger
    language plpgsql as $$
begin
    insert into notifications.depth_deltas (status, change)
    select status, -sum(change) from notifications.depth_deltas
     group by status having sum(change) <> 0;
    return null;
end
$$;

create trigger depth_inserted after insert on notifications.notification_deliveries
    referencing new table as added
    for each statement execute function notifications.note_inserted();

create trigger depth_updated after update on notifications.notification_deliveries
    referencing old table as removed new table as added
    for each statement execute function notifications.note_updated();

create trigger depth_deleted after delete on notifications.notification_deliveries
    referencing old table as removed
    for each statement execute function notifications.note_deleted();

create trigger depth_truncated after truncate on notifications.notification_deliveries
    for each statement execute function notifications.note_truncated();

-- Which workers say that they run. For display only: whether a delivery is held is read off its
-- lease, never off this table. Unlogged, because after a crash of the server it is worth nothing.

create unlogged table notifications.workers (
    holder     text primary key,
    host       text        not null,
    pid        integer     not null,
    started_at timestamptz not null default clock_timestamp(),
    seen_at    timestamptz not null default clock_timestamp(),
    -- A worker that has not been seen for three beats counts as gone.
    beat       interval    not null check (beat > interval '0')
);

-- What the channel "page" has delivered. One row a delivery: sending it again raises `copies`,
-- so that a duplicate is seen as one message that came twice.

create table notifications.page_messages (
    -- The transaction that wrote the row. A reader takes only rows older than every open
    -- transaction, so that a cursor over `position` never passes a row that commits late.
    -- It stands first so that it is set before `position` is drawn.
    written_by  xid8        not null default pg_current_xact_id(),
    position    bigint      generated always as identity unique,
    delivery_id bigint      primary key,
    recipient   text        not null,
    text        text        not null,
    attempt     integer     not null,
    copies      integer     not null default 1,
    received_at timestamptz not null default clock_timestamp()
);

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

-- What operators need: paused channels, the history of the depth, counters that outlive the
-- processes that count, and indexes for retention and for looking at what has ended.

create table notifications.paused_channels (
    channel   text primary key check (channel <> ''),
    paused_at timestamptz not null default clock_timestamp(),
    reason    text
);

create table notifications.depth_history (
    minute           timestamptz primary key,
    pending          bigint  not null,
    due              bigint  not null,
    processing       bigint  not null,
    sent             bigint  not null,
    failed           bigint  not null,
    dead             bigint  not null,
    live_workers     integer not null,
    oldest_due_age_s float8
);

-- Sums over every worker and drain there has been: a drain is over before anyone could ask it.
-- `detail` is the outcome of a send, or the upper bound of a histogram's bucket.
create table notifications.counters (
    name    text   not null,
    subject text   not null default '',
    detail  text   not null default '',
    value   float8 not null,
    primary key (name, subject, detail)
) with (fillfactor = 50);

-- For deleting the oldest first. The predicates stand literally in the statements that use them.
create index notification_deliveries_sent
    on notifications.notification_deliveries (settled_at, id)
    where status = 'sent';

create index notification_deliveries_ended
    on notifications.notification_deliveries (status, settled_at, id)
    where status in ('failed', 'dead');

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

-- One function tells all changes: the look whether anybody watches and the notification stand in it
-- once. It runs with the rights of whoever made the schema: a program that
-- writes deliveries need not have any on the log.
--
-- Of an update, what the change was is read off both rows, and where an attempt ended off the
-- attempt log, which the same statement has written.
create function notifications.tell() returns trigger
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if not exists (select from notifications.event_log
                    where recorded_until > statement_timestamp()) then
        return null;
    end if;
    if tg_name = 'events_added' then
        insert into notifications.delivery_events
               (change, delivery_id, channel, to_status, attempt, current_attempt, max_attempts,
                next_attempt_at)
        select 'enqueue', id, channel, status, attempts, attempts, max_attempts, next_attempt_at
          from added
         order by id;
    elsif tg_name = 'events_changed' then
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
    else
        insert into notifications.delivery_events
               (change, delivery_id, channel, from_status, to_status, attempt, current_attempt,
                max_attempts, holder, next_attempt_at, outcome, class, error, verdict)
        select 'refuse', d.id, d.channel, d.status, d.status, new.attempt, d.attempts,
               d.max_attempts, new.holder, d.next_attempt_at,
               new.outcome, new.class, left(new.error, 300), new.verdict
          from notifications.notification_deliveries as d
         where d.id = new.delivery_id;
    end if;
    if found then
        perform pg_notify('delivery_events', '');
    end if;
    return null;
end
$$;

create trigger events_added after insert on notifications.notification_deliveries
    referencing new table as added
    for each statement execute function notifications.tell();

create trigger events_changed after update on notifications.notification_deliveries
    referencing old table as removed new table as added
    for each statement execute function notifications.tell();

create trigger events_refused after insert on notifications.delivery_attempts
    for each row when (new.verdict = 'refused')
    execute function notifications.tell();

-- The two statements that a worker runs for every batch, as functions: PostgreSQL keeps the plan of
-- a statement inside a function for as long as the connection to it lasts, whoever stands between.
--
-- A plan that is kept must be right for whatever the table becomes, so it may not follow from what
-- the table was when it was made. That is what the settings of each function are for: they leave
-- one way to get at the rows, the index that was made for it, and one way to join a batch.

-- Takes up to `most` due deliveries of the channels `among` for `claimant`, counts the attempt, and
-- returns them in the order in which they are to be sent.
--
-- Each channel's head is read by itself, in the order of its index, and the heads are merged. So
-- rows of channels that are paused, or that this worker does not know or leaves alone for a while,
-- are never read, however many are due before the first that is taken.
--
-- The pick is materialised and its ids are fetched as an array: as a plain sub-select in FROM the
-- planner may run it again for each outer row and so claim more than the limit. Rows that somebody
-- else has locked are skipped. What a channel offers beyond the limit in all stays locked until
-- the end of this transaction, and is then as due as before.
create function notifications.claim(claimant text, among text[], most integer, lease_s float8)
    returns table (id bigint, channel text, recipient text, payload jsonb, attempt integer,
                   max_attempts integer, idempotency_key text, created_at timestamptz,
                   due_at timestamptz, lease_expires_at timestamptz)
    language plpgsql
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
#variable_conflict use_column
begin
    return query
    with due as materialized (
        select head.id
          from unnest(among) as c(channel)
         cross join lateral (
               select id, next_attempt_at, created_at
                 from notifications.notification_deliveries
                where status = 'pending'
                  and channel = c.channel
                  and next_attempt_at <= statement_timestamp()
                order by next_attempt_at, created_at, id
                limit most
                  for update skip locked) as head
         where c.channel not in (select channel from notifications.paused_channels)
         order by head.next_attempt_at, head.created_at, head.id
         limit most
    ),
    taken as (
        update notifications.notification_deliveries as d
           set status = 'processing',
               attempts = d.attempts + 1,
               attempted_at = clock_timestamp(),
               holder = claimant,
               lease_expires_at = clock_timestamp() + make_interval(secs => lease_s)
         where d.id = any(array(select id from due))
        returning d.*
    )
    select id, channel, recipient, payload, attempts, max_attempts, idempotency_key, created_at,
           next_attempt_at, lease_expires_at
      from taken
     order by next_attempt_at, created_at, id;
end
$$;

-- Writes the outcomes of a batch, each under its fence, and answers every one with a verdict:
--   applied   the row was still held under this attempt
--   late      the row had been reaped, but nobody has claimed it since; a late 'sent' is true
--   repeated  the row already says so (this statement's first answer was lost)
--   refused   the row has moved on, or is gone; nothing was changed
-- Rows are locked in order of id, so that two batches never wait for each other in a circle. What
-- is judged is what was read under the lock, so it cannot change before it is written.
-- Each outcome goes into the attempt log, a refused one too; a repeated one is there already.
-- `writer` is who writes: in the log a refused write would have no name without it.
create function notifications.settle(
        ids bigint[], tries integer[], statuses text[], errors text[], delays_s float8[],
        codes text[], provider_ids text[], writer text)
    returns table (id bigint, attempt integer, verdict text, status text, current_attempt integer)
    language plpgsql
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_nestloop = off
    set jit = off
as $$
#variable_conflict use_column
begin
    return query
    with found as materialized (
        select d.id, d.status, d.attempts, d.max_attempts, d.holder, d.attempted_at
          from notifications.notification_deliveries as d
         where d.id = any(ids)
         order by d.id
           for update
    ),
    judged as materialized (
        select i.id, i.attempt, i.status as wanted, i.error, i.delay_s, i.code, i.provider_id,
               w.becomes,
               case when f.attempts = i.attempt
                    then case when f.status = 'processing' then 'applied'
                              when i.status = 'sent' and f.status in ('pending', 'dead') then 'late'
                              when f.status = w.becomes then 'repeated'
                              else 'refused'
                         end
                    else 'refused'
               end as verdict,
               f.status as found,
               f.attempts as current_attempt,
               f.holder,
               f.attempted_at
          from unnest(ids, tries, statuses, errors, delays_s, codes, provider_ids)
               as i(id, attempt, status, error, delay_s, code, provider_id)
          left join found as f on f.id = i.id
         cross join lateral (
               -- max_attempts may have been lowered since the claim.
               select case when i.status = 'pending' and f.attempts >= f.max_attempts
                           then 'dead' else i.status end as becomes) as w
    ),
    settled as (
        update notifications.notification_deliveries as d
           set status = j.becomes,
               next_attempt_at = case when j.becomes = 'pending'
                                      then clock_timestamp() + make_interval(secs => j.delay_s)
                                      else d.next_attempt_at end,
               settled_at = case when j.becomes = 'pending' then null else clock_timestamp() end,
               settle_class = case j.becomes when 'failed' then 'refused'
                                             when 'dead' then 'exhausted' end,
               last_error = case when j.becomes = 'sent' then d.last_error else j.error end,
               holder = null,
               lease_expires_at = null
          from judged as j
         where d.id = j.id
           and d.id = any(ids)
           and j.verdict in ('applied', 'late')
    ),
    logged as (
        insert into notifications.delivery_attempts
               (delivery_id, attempt, holder, claimed_at, outcome, class, error, provider_id,
                verdict)
        select id,
               attempt,
               case verdict when 'applied' then holder else writer end,
               case when attempt = current_attempt then attempted_at end,
               case wanted when 'sent' then 'sent' when 'failed' then 'refused' else 'failed' end,
               code, error, provider_id, verdict
          from judged
         where verdict <> 'repeated'
           and current_attempt is not null
    )
    select id, attempt, verdict,
           case when verdict in ('applied', 'late') then becomes else found end,
           current_attempt
      from judged
     order by id, attempt;
end
$$;
