-- Whether the run is still this one. Until the end of the transaction it stays so: renewing the
-- lease does not change a key and goes on, beginning another run waits.
select name
  from jobs.jobs
 where run_id = %(run)s
   and fence = %(fence)s
   and lease_expires_at > clock_timestamp()
   for key share
