-- What the lab needs beside the outbox: how its channel behaves, for all of its workers to see.
-- Not one of the outbox's migrations, so that a queue without a lab has nothing of it.
create schema if not exists lab;

create table if not exists lab.channels (
    name    text    primary key,
    -- Every send finds the receiver down.
    down    boolean not null default false,
    -- The receiver refuses for good.
    refuses boolean not null default false,
    -- The first so many attempts of each delivery fail.
    fails   integer not null default 0 check (fails >= 0),
    -- Seconds that a send takes, before they are scaled.
    takes_s float8  not null default 50 check (takes_s >= 0)
);

insert into lab.channels (name) values ('lab') on conflict do nothing;
