-- Asks a run to end; it hears of it when it next renews its lease. No row: it does not run.
update jobs.runs as r
   set cancelled_by = coalesce(r.cancelled_by, %(by)s)
  from jobs.jobs as j
 where r.id = %(run)s
   and r.job = %(job)s
   and r.outcome is null
   and j.run_id = r.id
   and j.lease_expires_at > statement_timestamp()
returning r.id
