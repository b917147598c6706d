-- Renews the leases that are still held and still good, and returns their ids. A lease that ran
-- out is not revived, whether or not the reaper has been there.
with input as materialized (
    select * from unnest(%(ids)s::bigint[], %(attempts)s::int[]) as i(id, attempt)
),
held as materialized (
    select d.id
      from notifications.notification_deliveries as d
      join input as i on i.id = d.id and i.attempt = d.attempts
     where d.status = 'processing'
       and d.lease_expires_at > statement_timestamp()
     order by d.id
       for update of d
)
update notifications.notification_deliveries as d
   set lease_expires_at = clock_timestamp() + make_interval(secs => %(lease_s)s)
  from held
 where d.id = held.id
returning d.id
