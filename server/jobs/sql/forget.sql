-- Deletes up to %(limit)s runs that ended long ago, but of each job the latest stay.
delete from jobs.runs
 where id = any(array(
       select r.id
         from jobs.runs as r
         join jobs.jobs as j on j.name = r.job
        where r.ended_at < clock_timestamp() - make_interval(secs => %(keep_s)s)
          and r.fence <= j.fence - 100
        order by r.id
        limit %(limit)s))
returning id
