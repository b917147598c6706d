-- Deletes up to %(limit)s events from the start of the log: those beyond the newest %(keep)s, and
-- those older than %(keep_s)s seconds. If the first one may stay, all may, and nothing else is
-- looked at.
with bounds as materialized (
    select max(seq) - %(keep)s as seq,
           statement_timestamp() - make_interval(secs => %(keep_s)s) as at
      from notifications.delivery_events
),
doomed as materialized (
    select e.seq
      from notifications.delivery_events as e, bounds
     where exists (select from (select seq, at
                                  from notifications.delivery_events
                                 order by seq
                                 limit 1) as first
                    where first.seq <= bounds.seq or first.at < bounds.at)
       and e.seq in (select seq from notifications.delivery_events order by seq limit %(limit)s)
       and (e.seq <= bounds.seq or e.at < bounds.at)
     order by e.seq
       for update of e skip locked
),
gone as (
    delete from notifications.delivery_events as e
     using doomed
     where e.seq = doomed.seq
    returning e.written_by
),
noted as (
    update notifications.event_log
       set purged = greatest(purged, (select max(written_by) from gone))
     where exists (select from gone)
)
select count(*) as purged from gone
