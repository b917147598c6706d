-- Adds to the counters. In one order, so that two who count never wait for each other in a circle.
insert into notifications.counters as c (name, subject, detail, value)
select name, subject, detail, value
  from unnest(%(names)s::text[], %(subjects)s::text[], %(details)s::text[], %(values)s::float8[])
       as n(name, subject, detail, value)
 order by name, subject, detail
    on conflict (name, subject, detail) do update set value = c.value + excluded.value
