-- Ends a run, if it is still this one and its lease has not run out. No row: it is lost, and what
-- it says is refused.
with mine as materialized (
    select name
      from jobs.jobs
     where run_id = %(run)s
       and fence = %(fence)s
       and lease_expires_at > statement_timestamp()
       for update
),
ended as (
    update jobs.runs as r
       set outcome = %(outcome)s,
           ended_at = clock_timestamp(),
           error = %(error)s,
           report = %(report)s,
           cpu_s = %(cpu_s)s,
           memory_bytes = %(memory_bytes)s
      from mine
     where r.id = %(run)s
)
update jobs.jobs as j
   set run_id = null,
       lease_expires_at = null
  from mine
 where j.name = mine.name
returning j.name
