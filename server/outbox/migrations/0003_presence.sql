-- Which workers say that they run. For display only: whether a delivery is held is read off its
-- lease, never off this table. Unlogged, because after a crash of the server it is worth nothing.

create unlogged table notifications.workers (
    holder     text primary key,
    host       text        not null,
    pid        integer     not null,
    started_at timestamptz not null default clock_timestamp(),
    seen_at    timestamptz not null default clock_timestamp(),
    -- A worker that has not been seen for three beats counts as gone.
    beat       interval    not null check (beat > interval '0')
);
