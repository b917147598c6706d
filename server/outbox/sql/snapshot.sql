-- Which transactions this statement sees.
select pg_current_snapshot()::text as snapshot
