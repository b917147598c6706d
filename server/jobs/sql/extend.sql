-- Renews the lease of a run, and tells who wants it cancelled. No row: the lease is lost. One that
-- ran out is not revived.
update jobs.jobs as j
   set lease_expires_at = clock_timestamp() + make_interval(secs => %(lease_s)s)
  from jobs.runs as r
 where j.run_id = %(run)s
   and j.fence = %(fence)s
   and j.lease_expires_at > statement_timestamp()
   and r.id = j.run_id
returning r.cancelled_by
