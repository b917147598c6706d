-- Exact counts by status that cost the same however many rows there are.
--
-- Each statement that changes deliveries appends what it changed, in its own transaction; nobody
-- updates a shared counter, so writers never wait for one another. The sum by status is the depth.
-- The reaper folds the appended rows together now and then (sql/fold.sql).

create table notifications.depth_deltas (
    id     bigint generated always as identity primary key,
    status text   not null,
    change bigint not null
) with (
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 200,
    autovacuum_vacuum_cost_delay = 0
);

create function notifications.note_inserted() returns trigger
    language plpgsql as $$
begin
    insert into notifications.depth_deltas (status, change)
    select status, count(*) from added group by status;
    return null;
end
$$;

create function notifications.note_updated() returns trigger
    language plpgsql as $$
begin
    insert into notifications.depth_deltas (status, change)
    select status, sum(change)
      from (select status, 1 as change from added
            union all
            select status, -1 from removed) as moved
     group by status
    having sum(change) <> 0;
    return null;
end
$$;

create function notifications.note_deleted() returns trigger
    language plpgsql as $$
begin
    insert into notifications.depth_deltas (status, change)
    select status, -count(*) from removed group by status;
    return null;
end
$$;

-- TRUNCATE holds an exclusive lock until it commits, so the sums seen here are final. They are
-- cancelled by their negative rather than deleted: a fold at the same moment would put them back.
create function notifications.note_truncated() returns trigger
    language plpgsql as $$
begin
    insert into notifications.depth_deltas (status, change)
    select status, -sum(change) from notifications.depth_deltas
     group by status having sum(change) <> 0;
    return null;
end
$$;

create trigger depth_inserted after insert on notifications.notification_deliveries
    referencing new table as added
    for each statement execute function notifications.note_inserted();

create trigger depth_updated after update on notifications.notification_deliveries
    referencing old table as removed new table as added
    for each statement execute function notifications.note_updated();

create trigger depth_deleted after delete on notifications.notification_deliveries
    referencing old table as removed
    for each statement execute function notifications.note_deleted();

create trigger depth_truncated after truncate on notifications.notification_deliveries
    for each statement execute function notifications.note_truncated();
