-- Deletes up to %(limit)s messages of the page that are older than %(keep_s)s seconds.
delete from notifications.page_messages
 where position in (select position
                      from notifications.page_messages
                     order by position
                     limit %(limit)s)
   and received_at < statement_timestamp() - make_interval(secs => %(keep_s)s)
returning position
