-- Writes the outcomes of a batch, each under its fence, and answers every one with a verdict:
--   applied   the row was still held under this attempt
--   late      the row had been reaped, but nobody has claimed it since; a late 'sent' is true
--   repeated  the row already says so (this statement's first answer was lost)
--   refused   the row has moved on, or is gone; nothing was changed
-- Rows are locked in order of id, so that two batches never wait for each other in a circle.
-- Each outcome goes into the attempt log, a refused one too; a repeated one is there already.
with input as materialized (
    select *
      from unnest(%(ids)s::bigint[], %(attempts)s::int[], %(statuses)s::text[],
                  %(errors)s::text[], %(delays_s)s::float8[], %(codes)s::text[],
                  %(provider_ids)s::text[])
           as i(id, attempt, status, error, delay_s, code, provider_id)
),
found as materialized (
    select d.id, d.status, d.attempts, d.max_attempts, d.holder, d.attempted_at
      from notifications.notification_deliveries as d
     where d.id = any(%(ids)s::bigint[])
     order by d.id
       for update
),
settled as (
    update notifications.notification_deliveries as d
       set status = w.status,
           next_attempt_at = case when w.status = 'pending'
                                  then clock_timestamp() + make_interval(secs => i.delay_s)
                                  else d.next_attempt_at end,
           settled_at = case when w.status = 'pending' then null else clock_timestamp() end,
           settle_class = case w.status when 'failed' then 'refused'
                                        when 'dead' then 'exhausted' end,
           last_error = case when w.status = 'sent' then d.last_error else i.error end,
           holder = null,
           lease_expires_at = null
      from input as i
      join found as f using (id)
     cross join lateral (
           -- max_attempts may have been lowered since the claim.
           select case when i.status = 'pending' and f.attempts >= f.max_attempts
                       then 'dead' else i.status end as status) as w
     where d.id = i.id
       and f.attempts = i.attempt
       and (f.status = 'processing' or (i.status = 'sent' and f.status in ('pending', 'dead')))
    returning d.id, d.attempts, d.status
),
answered as materialized (
    select i.id,
           i.attempt,
           case when s.id is not null and f.status = 'processing' then 'applied'
                when s.id is not null then 'late'
                when f.attempts = i.attempt and f.status = i.status then 'repeated'
                else 'refused'
           end as verdict,
           coalesce(s.status, f.status) as status,
           f.attempts as current_attempt,
           case i.status when 'sent' then 'sent' when 'failed' then 'refused' else 'failed'
           end as outcome,
           i.code,
           i.error,
           i.provider_id,
           f.holder,
           f.attempted_at
      from input as i
      left join found as f on f.id = i.id
      left join settled as s on s.id = i.id and s.attempts = i.attempt
),
logged as (
    insert into notifications.delivery_attempts
           (delivery_id, attempt, holder, claimed_at, outcome, class, error, provider_id, verdict)
    select id,
           attempt,
           case verdict when 'applied' then holder else %(holder)s::text end,
           case when attempt = current_attempt then attempted_at end,
           outcome, code, error, provider_id, verdict
      from answered
     where verdict <> 'repeated'
       and current_attempt is not null
)
select id, attempt, verdict, status, current_attempt
  from answered
 order by id, attempt
