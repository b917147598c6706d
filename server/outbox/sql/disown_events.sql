-- Says that events of transactions which run at this moment may be missing: they may have begun
-- while nothing was written.
update notifications.event_log
   set purged = greatest(purged, pg_current_xact_id())
