-- What operators need: paused channels, the history of the depth, counters that outlive the
-- processes that count, and indexes for retention and for looking at what has ended.

create table notifications.paused_channels (
    channel   text primary key check (channel <> ''),
    paused_at timestamptz not null default clock_timestamp(),
    reason    text
);

create table notifications.depth_history (
    minute           timestamptz primary key,
    pending          bigint  not null,
    due              bigint  not null,
    processing       bigint  not null,
    sent             bigint  not null,
    failed           bigint  not null,
    dead             bigint  not null,
    live_workers     integer not null,
    oldest_due_age_s float8
);

-- Sums over every worker and drain there has been: a drain is over before anyone could ask it.
-- `detail` is the outcome of a send, or the upper bound of a histogram's bucket.
create table notifications.counters (
    name    text   not null,
    subject text   not null default '',
    detail  text   not null default '',
    value   float8 not null,
    primary key (name, subject, detail)
) with (fillfactor = 50);

-- For deleting the oldest first. The predicates stand literally in the statements that use them.
create index notification_deliveries_sent
    on notifications.notification_deliveries (settled_at, id)
    where status = 'sent';

create index notification_deliveries_ended
    on notifications.notification_deliveries (status, settled_at, id)
    where status in ('failed', 'dead');
