-- The newest %(limit)s messages, oldest first.
select *
  from (select position, delivery_id, recipient, text, attempt, copies, received_at
          from notifications.page_messages
         where written_by < pg_snapshot_xmin(pg_current_snapshot())
         order by position desc
         limit %(limit)s) as newest
 order by position
