-- Gives back up to %(limit)s deliveries whose lease ran out. The lost attempt stays counted, so a
-- delivery that kills each worker that takes it ends as dead. It is due again at once: it has
-- already waited for its lease.
with expired as materialized (
    select id, attempts, holder, attempted_at,
           format('the lease of attempt %%s, held by %%s, ran out', attempts, holder) as reason
      from notifications.notification_deliveries
     where status = 'processing'
       and lease_expires_at <= statement_timestamp()
     order by id
     limit %(limit)s
       for update skip locked
),
logged as (
    insert into notifications.delivery_attempts
           (delivery_id, attempt, holder, claimed_at, outcome, class, error)
    select id, attempts, holder, attempted_at, 'lost', 'lease-lost', reason
      from expired
)
update notifications.notification_deliveries as d
   set status = case when d.attempts < d.max_attempts then 'pending' else 'dead' end,
       next_attempt_at = clock_timestamp(),
       settled_at = case when d.attempts < d.max_attempts then null else clock_timestamp() end,
       settle_class = case when d.attempts < d.max_attempts then null else 'lease-lost' end,
       last_error = e.reason,
       holder = null,
       lease_expires_at = null
  from expired as e
 where d.id = e.id
returning d.id, d.attempts as attempt, d.status
