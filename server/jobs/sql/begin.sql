-- Begins a run of %(job)s if nobody holds it, and if its tick is due and nobody has dealt with it.
-- Whoever comes second waits for the row, sees it held or decided, and gets nothing.
--
-- A run whose lease ran out is noted as lost here: it does not stand in the way.
with free as materialized (
    select name, fence, run_id
      from jobs.jobs
     where name = %(job)s
       and (lease_expires_at is null or lease_expires_at <= statement_timestamp())
       and (%(scheduled_for)s::timestamptz is null
            or (decided_until < %(scheduled_for)s and %(scheduled_for)s <= clock_timestamp()))
       for update
),
lost as (
    update jobs.runs as r
       set outcome = 'lost',
           ended_at = clock_timestamp(),
           error = format('the lease of %%s ran out', r.holder)
      from free
     where r.id = free.run_id
       and r.outcome is null
),
begun as (
    insert into jobs.runs (job, fence, waker, woken_by, holder, scheduled_for)
    select name, fence + 1, %(waker)s, %(woken_by)s, %(holder)s, %(scheduled_for)s
      from free
        on conflict (job, scheduled_for) do nothing
    returning id, job, fence, scheduled_for, started_at
)
update jobs.jobs as j
   set fence = begun.fence,
       run_id = begun.id,
       lease_expires_at = clock_timestamp() + make_interval(secs => %(lease_s)s),
       decided_until = greatest(j.decided_until, begun.scheduled_for)
  from begun
 where j.name = begun.job
returning begun.job, begun.id as run, begun.fence, begun.scheduled_for, begun.started_at
