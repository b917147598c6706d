-- Has events written for the next %(for_s)s seconds at least. Answers whether they were being
-- written without a gap until now; if not, what was written before does not connect.
with before as (
    select recorded_until from notifications.event_log
)
insert into notifications.event_log as l (recorded_until, purged)
values (clock_timestamp() + make_interval(secs => %(for_s)s), pg_current_xact_id())
    on conflict (only_row) do update
       set recorded_until = greatest(l.recorded_until, excluded.recorded_until),
           purged = case when l.recorded_until > statement_timestamp() then l.purged
                         else excluded.purged end
returning exists (select from before where recorded_until > statement_timestamp()) as went_on
