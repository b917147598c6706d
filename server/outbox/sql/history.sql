-- The samples of the last %(span_s)s seconds, at most one for each %(step_s)s seconds: the last.
select distinct on (date_bin(make_interval(secs => %(step_s)s), minute, 'epoch'))
       minute as at, pending, due, processing, sent, failed, dead, live_workers, oldest_due_age_s
  from notifications.depth_history
 where minute > statement_timestamp() - make_interval(secs => %(span_s)s)
 order by date_bin(make_interval(secs => %(step_s)s), minute, 'epoch'), minute desc
