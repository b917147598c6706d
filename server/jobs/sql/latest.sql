-- The latest run of each of these jobs.
select h.id, h.job, h.fence, h.waker, h.woken_by, h.scheduled_for, h.started_at, h.ended_at,
       h.took_s, h.outcome, h.error, h.report, h.holder, h.cancelled_by, h.cpu_s, h.memory_bytes
  from unnest(%(names)s::text[]) as n(name)
 cross join lateral (
       select *
         from jobs.history
        where job = n.name
        order by id desc
        limit 1) as h
