-- Replaces up to %(limit)s deltas by their sums. Sums by status are the same before and after,
-- for every reader, since it is one statement. Locked rows are left to whoever folds them.
with gone as (
    delete from notifications.depth_deltas
     where id in (select id from notifications.depth_deltas
                   order by id limit %(limit)s for update skip locked)
    returning status, change
),
kept as (
    insert into notifications.depth_deltas (status, change)
    select status, sum(change) from gone group by status having sum(change) <> 0
    returning id
)
select (select count(*) from gone) as folded, (select count(*) from kept) as kept
