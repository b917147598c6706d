-- What the channel "page" has delivered. One row a delivery: sending it again raises `copies`,
-- so that a duplicate is seen as one message that came twice.

create table notifications.page_messages (
    -- The transaction that wrote the row. A reader takes only rows older than every open
    -- transaction, so that a cursor over `position` never passes a row that commits late.
    -- It stands first so that it is set before `position` is drawn.
    written_by  xid8        not null default pg_current_xact_id(),
    position    bigint      generated always as identity unique,
    delivery_id bigint      primary key,
    recipient   text        not null,
    text        text        not null,
    attempt     integer     not null,
    copies      integer     not null default 1,
    received_at timestamptz not null default clock_timestamp()
);
