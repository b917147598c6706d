-- For how long the oldest transaction of this database has been open, ours left out; null: none.
-- Of other roles' sessions only those that this role may look at.
select extract(epoch from clock_timestamp() - min(xact_start))::float8 as age_s
  from pg_stat_activity
 where datname = current_database()
   and pid <> pg_backend_pid()
   and backend_type = 'client backend'
