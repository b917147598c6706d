-- Up to %(limit)s events that a reader has not seen, with the snapshot in which they were read.
--
-- `seen` is the snapshot of the reader's last look. Whatever transaction is not in it and is
-- visible now has committed since, however early it began: so nothing is skipped or repeated, and
-- nobody waits for a transaction that stays open. Within one look the order is that of `seq`, in
-- which a delivery's changes always follow one another. A look that did not fit is continued by
-- `upto`, its snapshot, and `after`, the last number read in it.
--
-- `connected` is false when events that the reader has not seen are missing: deleted, or not
-- written, or `seen` is from another database. A transaction that `seen` takes for open and that
-- has ended since counts as missing if it is as old as what was deleted.
with look as materialized (
    select pg_current_snapshot() as at,
           l.recorded_until > statement_timestamp()
           and pg_snapshot_xmax(%(seen)s::pg_snapshot) > l.purged
           and pg_snapshot_xmax(%(seen)s::pg_snapshot) <= pg_snapshot_xmax(pg_current_snapshot())
           and not exists (
               select from pg_snapshot_xip(%(seen)s::pg_snapshot) as open(xid)
                where xid <= l.purged
                  and pg_visible_in_snapshot(xid, pg_current_snapshot())) as connected
      from notifications.event_log as l
)
select look.at::text as snapshot, look.connected, e.*
  from look
  left join lateral (
       select written_by::text, seq, at, change, delivery_id, channel, from_status, to_status,
              attempt, current_attempt, max_attempts, holder, lease_expires_at, next_attempt_at,
              outcome, class as code, error, verdict
         from notifications.delivery_events
        where look.connected
          and written_by >= pg_snapshot_xmin(%(seen)s::pg_snapshot)
          and not pg_visible_in_snapshot(written_by, %(seen)s::pg_snapshot)
          and seq > %(after)s
          and (%(upto)s::pg_snapshot is null
               or pg_visible_in_snapshot(written_by, %(upto)s::pg_snapshot))
        order by seq
        limit %(limit)s) as e on true
 order by e.seq
