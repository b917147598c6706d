-- Writes the outcomes of a batch, each under its fence, and answers every one with a verdict:
--   applied   the row was still held under this attempt
--   late      the row had been reaped, but nobody has claimed it since; a late 'sent' is true
--   repeated  the row already says so (this statement's first answer was lost)
--   refused   the row has moved on, or is gone; nothing was changed
-- Rows are locked in order of id, so that two batches never wait for each other in a circle. What
-- is judged is what was read under the lock, so it cannot change before it is written.
-- Each outcome goes into the attempt log, a refused one too; a repeated one is there already.
with found as materialized (
    select d.id, d.status, d.attempts, d.max_attempts, d.holder, d.attempted_at
      from notifications.notification_deliveries as d
     where d.id = any(%(ids)s::bigint[])
     order by d.id
       for update
),
judged as materialized (
    select i.id, i.attempt, i.status as wanted, i.error, i.delay_s, i.code, i.provider_id,
           w.becomes,
           case when f.attempts = i.attempt
                then case when f.status = 'processing' then 'applied'
                          when i.status = 'sent' and f.status in ('pending', 'dead') then 'late'
                          when f.status = w.becomes then 'repeated'
                          else 'refused'
                     end
                else 'refused'
           end as verdict,
           f.status as found,
           f.attempts as current_attempt,
           f.holder,
           f.attempted_at
      from unnest(%(ids)s::bigint[], %(attempts)s::int[], %(statuses)s::text[],
                  %(errors)s::text[], %(delays_s)s::float8[], %(codes)s::text[],
                  %(provider_ids)s::text[])
           as i(id, attempt, status, error, delay_s, code, provider_id)
      left join found as f on f.id = i.id
     cross join lateral (
           -- max_attempts may have been lowered since the claim.
           select case when i.status = 'pending' and f.attempts >= f.max_attempts
                       then 'dead' else i.status end as becomes) as w
),
settled as (
    update notifications.notification_deliveries as d
       set status = j.becomes,
           next_attempt_at = case when j.becomes = 'pending'
                                  then clock_timestamp() + make_interval(secs => j.delay_s)
                                  else d.next_attempt_at end,
           settled_at = case when j.becomes = 'pending' then null else clock_timestamp() end,
           settle_class = case j.becomes when 'failed' then 'refused'
                                         when 'dead' then 'exhausted' end,
           last_error = case when j.becomes = 'sent' then d.last_error else j.error end,
           holder = null,
           lease_expires_at = null
      from judged as j
     where d.id = j.id
       and j.verdict in ('applied', 'late')
),
logged as (
    insert into notifications.delivery_attempts
           (delivery_id, attempt, holder, claimed_at, outcome, class, error, provider_id, verdict)
    select id,
           attempt,
           case verdict when 'applied' then holder else %(holder)s::text end,
           case when attempt = current_attempt then attempted_at end,
           case wanted when 'sent' then 'sent' when 'failed' then 'refused' else 'failed' end,
           code, error, provider_id, verdict
      from judged
     where verdict <> 'repeated'
       and current_attempt is not null
)
select id, attempt, verdict,
       case when verdict in ('applied', 'late') then becomes else found end as status,
       current_attempt
  from judged
 order by id, attempt
