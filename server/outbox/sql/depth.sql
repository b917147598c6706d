-- The depth of the queue, exact at one instant: one statement, one snapshot.
-- Totals come from the deltas. What waits for later is counted through the index by time
-- (of which "attempts < max_attempts" is part: no pending row is without attempts left), and what is
-- due is the rest of it.
with totals as (
    select coalesce(sum(change) filter (where status = 'pending'), 0)::bigint    as pending,
           coalesce(sum(change) filter (where status = 'processing'), 0)::bigint as processing,
           coalesce(sum(change) filter (where status = 'sent'), 0)::bigint       as sent,
           coalesce(sum(change) filter (where status = 'failed'), 0)::bigint     as failed,
           coalesce(sum(change) filter (where status = 'dead'), 0)::bigint       as dead
      from notifications.depth_deltas
),
later as (
    select count(*) filter (where attempts = 0) as scheduled,
           count(*) filter (where attempts > 0) as retrying
      from notifications.notification_deliveries
     where status = 'pending'
       and attempts < max_attempts
       and next_attempt_at > statement_timestamp()
),
oldest as (
    select next_attempt_at
      from notifications.notification_deliveries
     where status = 'pending'
       and attempts < max_attempts
       and next_attempt_at <= statement_timestamp()
     order by next_attempt_at
     limit 1
)
select statement_timestamp() as as_of,
       (select count(*) from notifications.workers
         where seen_at > statement_timestamp() - 3 * beat) as live_workers,
       t.pending,
       t.pending - l.scheduled - l.retrying as due,
       l.scheduled,
       l.retrying,
       t.processing,
       t.sent,
       t.failed,
       t.dead,
       (select extract(epoch from statement_timestamp() - next_attempt_at)::float8
          from oldest) as oldest_due_age_s
  from totals as t
 cross join later as l
