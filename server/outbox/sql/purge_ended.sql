-- The same for one of 'failed' and 'dead'.
with old as materialized (
    select id
      from notifications.notification_deliveries
     where status in ('failed', 'dead')
       and status = %(status)s
       and settled_at < statement_timestamp() - make_interval(secs => %(keep_s)s)
     order by settled_at, id
     limit %(limit)s
       for update skip locked
)
delete from notifications.notification_deliveries as d
 using old
 where d.id = old.id
returning d.id
