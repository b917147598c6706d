-- Deletes up to %(limit)s deliveries that were sent longer than %(keep_s)s seconds ago, oldest
-- first. Rows that others have locked are left to them.
with old as materialized (
    select id
      from notifications.notification_deliveries
     where status = 'sent'
       and settled_at < statement_timestamp() - make_interval(secs => %(keep_s)s)
     order by settled_at, id
     limit %(limit)s
       for update skip locked
)
delete from notifications.notification_deliveries as d
 using old
 where d.id = old.id
returning d.id
