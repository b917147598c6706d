-- Makes a row for each job that has none.
insert into jobs.jobs (name)
select unnest(%(names)s::text[])
    on conflict (name) do nothing
