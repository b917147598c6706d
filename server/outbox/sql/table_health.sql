-- What tells a table that is looked after from one that grows: rows that are dead and still lie
-- there, the last time they were swept, and the oldest transaction that keeps them from it.
select relname as name,
       n_live_tup as live_rows,
       n_dead_tup as dead_rows,
       pg_total_relation_size(relid) as bytes,
       extract(epoch from clock_timestamp() - greatest(last_vacuum, last_autovacuum))::float8
           as vacuumed_ago_s
  from pg_stat_user_tables
 where schemaname = 'notifications'
   and relname in ('notification_deliveries', 'depth_deltas', 'delivery_attempts')
 order by relname
