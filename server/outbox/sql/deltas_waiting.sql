-- How many deltas there are, counted up to %(limit)s.
select count(*) as waiting
  from (select 1 from notifications.depth_deltas limit %(limit)s) as waiting_deltas
