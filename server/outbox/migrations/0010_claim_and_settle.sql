-- The two statements that a worker runs for every batch, as functions: PostgreSQL keeps the plan of
-- a statement inside a function for as long as the connection to it lasts, whoever stands between.
--
-- A plan that is kept must be right for whatever the table becomes, so it may not follow from what
-- the table was when it was made. That is what the settings of each function are for: they leave
-- one way to get at the rows, the index that was made for it, and one way to join a batch.

-- Takes up to `most` due deliveries of the channels `among` for `claimant`, counts the attempt, and
-- returns them in the order in which they are to be sent.
--
-- Each channel's head is read by itself, in the order of its index, and the heads are merged. So
-- rows of channels that are paused, or that this worker does not know or leaves alone for a while,
-- are never read, however many are due before the first that is taken.
--
-- The pick is materialised and its ids are fetched as an array: as a plain sub-select in FROM the
-- planner may run it again for each outer row and so claim more than the limit. Rows that somebody
-- else has locked are skipped. What a channel offers beyond the limit in all stays locked until
-- the end of this transaction, and is then as due as before.
create function notifications.claim(claimant text, among text[], most integer, lease_s float8)
    returns table (id bigint, channel text, recipient text, payload jsonb, attempt integer,
                   max_attempts integer, idempotency_key text, created_at timestamptz,
                   due_at timestamptz, lease_expires_at timestamptz)
    language plpgsql
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
as $$
#variable_conflict use_column
begin
    return query
    with due as materialized (
        select head.id
          from unnest(among) as c(channel)
         cross join lateral (
               select id, next_attempt_at, created_at
                 from notifications.notification_deliveries
                where status = 'pending'
                  and channel = c.channel
                  and next_attempt_at <= statement_timestamp()
                order by next_attempt_at, created_at, id
                limit most
                  for update skip locked) as head
         where c.channel not in (select channel from notifications.paused_channels)
         order by head.next_attempt_at, head.created_at, head.id
         limit most
    ),
    taken as (
        update notifications.notification_deliveries as d
           set status = 'processing',
               attempts = d.attempts + 1,
               attempted_at = clock_timestamp(),
               holder = claimant,
               lease_expires_at = clock_timestamp() + make_interval(secs => lease_s)
         where d.id = any(array(select id from due))
        returning d.*
    )
    select id, channel, recipient, payload, attempts, max_attempts, idempotency_key, created_at,
           next_attempt_at, lease_expires_at
      from taken
     order by next_attempt_at, created_at, id;
end
$$;

-- Writes the outcomes of a batch, each under its fence, and answers every one with a verdict:
--   applied   the row was still held under this attempt
--   late      the row had been reaped, but nobody has claimed it since; a late 'sent' is true
--   repeated  the row already says so (this statement's first answer was lost)
--   refused   the row has moved on, or is gone; nothing was changed
-- Rows are locked in order of id, so that two batches never wait for each other in a circle. What
-- is judged is what was read under the lock, so it cannot change before it is written.
-- Each outcome goes into the attempt log, a refused one too; a repeated one is there already.
-- `writer` is who writes: in the log a refused write would have no name without it.
create function notifications.settle(
        ids bigint[], tries integer[], statuses text[], errors text[], delays_s float8[],
        codes text[], provider_ids text[], writer text)
    returns table (id bigint, attempt integer, verdict text, status text, current_attempt integer)
    language plpgsql
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_nestloop = off
    set jit = off
as $$
#variable_conflict use_column
begin
    return query
    with found as materialized (
        select d.id, d.status, d.attempts, d.max_attempts, d.holder, d.attempted_at
          from notifications.notification_deliveries as d
         where d.id = any(ids)
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
          from unnest(ids, tries, statuses, errors, delays_s, codes, provider_ids)
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
           and d.id = any(ids)
           and j.verdict in ('applied', 'late')
    ),
    logged as (
        insert into notifications.delivery_attempts
               (delivery_id, attempt, holder, claimed_at, outcome, class, error, provider_id,
                verdict)
        select id,
               attempt,
               case verdict when 'applied' then holder else writer end,
               case when attempt = current_attempt then attempted_at end,
               case wanted when 'sent' then 'sent' when 'failed' then 'refused' else 'failed' end,
               code, error, provider_id, verdict
          from judged
         where verdict <> 'repeated'
           and current_attempt is not null
    )
    select id, attempt, verdict,
           case when verdict in ('applied', 'late') then becomes else found end,
           current_attempt
      from judged
     order by id, attempt;
end
$$;
