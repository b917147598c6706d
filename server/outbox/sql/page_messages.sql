-- Up to %(limit)s messages after position %(after)s, oldest first.
select position, delivery_id, recipient, text, attempt, copies, received_at
  from notifications.page_messages
 where position > %(after)s
   and written_by < pg_snapshot_xmin(pg_current_snapshot())
 order by position
 limit %(limit)s
