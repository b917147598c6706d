-- What is known of these jobs, and the time by the only clock that counts.
select name as job, fence, decided_until, run_id as run, lease_expires_at,
       statement_timestamp() as now
  from jobs.jobs
 where name = any(%(names)s::text[])
 order by name
