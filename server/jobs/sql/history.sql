-- Runs, the latest first.
select id, job, fence, waker, woken_by, scheduled_for, started_at, ended_at, took_s, outcome,
       error, report, holder, cancelled_by, cpu_s, memory_bytes
  from jobs.history
 where (%(job)s::text is null or job = %(job)s)
   and (%(run)s::bigint is null or id = %(run)s)
   and (%(before)s::bigint is null or id < %(before)s)
 order by id desc
 limit %(limit)s
