-- Named jobs and their runs. A row a job is what keeps two runs of it apart, over any number of
-- servers: who holds it under a lease runs it, and `fence` grows with each run and never falls.

create table jobs.jobs (
    name             text primary key check (name ~ '^[a-z][a-z0-9-]{0,39}$'),
    fence            bigint      not null default 0 check (fence >= 0),
    -- Every tick up to here was run or passed over. A job that is new has this minute's at most.
    decided_until    timestamptz not null
                     default date_trunc('minute', clock_timestamp()) - interval '1 second',
    run_id           bigint,
    lease_expires_at timestamptz,
    check ((run_id is null) = (lease_expires_at is null))
);

create table jobs.runs (
    id            bigint generated always as identity primary key,
    job           text        not null references jobs.jobs (name),
    fence         bigint      not null,
    waker         text        not null
                  check (waker in ('cron', 'interval', 'click', 'call', 'command')),
    woken_by      text        not null,
    holder        text        not null,
    -- The tick that it is for; null: somebody woke it by hand.
    scheduled_for timestamptz,
    started_at    timestamptz not null default clock_timestamp(),
    ended_at      timestamptz,
    outcome       text check (outcome in ('succeeded', 'failed', 'timed-out', 'cancelled', 'lost')),
    error         text,
    report        jsonb,
    cancelled_by  text,
    cpu_s         float8,
    memory_bytes  bigint,
    check ((ended_at is null) = (outcome is null)),
    unique (job, fence),
    -- One tick, one run, however many servers wake up for it.
    unique (job, scheduled_for)
);

create index runs_started on jobs.runs (job, id desc);

-- Runs as they are now: one whose lease ran out is lost, whether or not anybody has noted it.
create view jobs.history as
select r.id, r.job, r.fence, r.waker, r.woken_by, r.scheduled_for, r.started_at,
       r.ended_at,
       extract(epoch from r.ended_at - r.started_at)::float8 as took_s,
       coalesce(r.outcome,
                case when j.run_id = r.id and j.lease_expires_at > statement_timestamp()
                     then 'running' else 'lost' end) as outcome,
       r.error, r.report, r.holder, r.cancelled_by, r.cpu_s, r.memory_bytes
  from jobs.runs as r
  join jobs.jobs as j on j.name = r.job;
