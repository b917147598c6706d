-- Deletes up to %(limit)s events from the start of the log: those beyond the newest %(keep)s, and
-- those older than %(keep_s)s seconds. Only the start is looked at.
with last as (
    select max(seq) as seq from notifications.delivery_events
),
oldest as materialized (
    select seq, at
      from notifications.delivery_events
     order by seq
     limit %(limit)s
       for update skip locked
),
gone as (
    delete from notifications.delivery_events as e
     using oldest as o, last
     where e.seq = o.seq
       and (o.seq <= last.seq - %(keep)s
            or o.at < statement_timestamp() - make_interval(secs => %(keep_s)s))
    returning e.written_by
),
noted as (
    update notifications.event_log
       set purged = greatest(purged, (select max(written_by) from gone))
     where exists (select from gone)
)
select count(*) as purged from gone
