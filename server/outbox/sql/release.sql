-- Hands back deliveries that were claimed and not started. The attempt is a fence and stays
-- spent, so the budget grows by one instead. They keep their place in the order.
with input as materialized (
    select * from unnest(%(ids)s::bigint[], %(attempts)s::int[]) as i(id, attempt)
),
held as materialized (
    select d.id, d.attempts, d.holder, d.attempted_at
      from notifications.notification_deliveries as d
      join input as i on i.id = d.id and i.attempt = d.attempts
     where d.status = 'processing'
     order by d.id
       for update of d
),
logged as (
    insert into notifications.delivery_attempts
           (delivery_id, attempt, holder, claimed_at, outcome)
    select id, attempts, holder, attempted_at, 'released'
      from held
)
update notifications.notification_deliveries as d
   set status = 'pending',
       max_attempts = d.max_attempts + 1,
       holder = null,
       lease_expires_at = null
  from held
 where d.id = held.id
returning d.id
