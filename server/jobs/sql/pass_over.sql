-- Notes that the ticks of a job up to %(until)s are dealt with: they were missed, and are not run.
update jobs.jobs
   set decided_until = %(until)s
 where name = %(job)s
   and decided_until < %(until)s
returning name
