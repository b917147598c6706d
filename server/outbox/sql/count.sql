-- Adds to the counters. In one order, so that two who count never wait for each other in a circle.
insert into notifications.counters as c (name, subject, bound, value)
select name, subject, bound, value
  from unnest(%(names)s::text[], %(subjects)s::text[], %(bounds)s::text[], %(values)s::float8[])
       as n(name, subject, bound, value)
 order by name, subject, bound
    on conflict (name, subject, bound) do update set value = c.value + excluded.value
