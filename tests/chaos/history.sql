-- Every change of a delivery as it was committed, and by whom: what the checker believes.
-- Each program of the run names itself by its application_name.

create schema chaos;

create table chaos.history (
    seq          bigint generated always as identity primary key,
    at           timestamptz not null default clock_timestamp(),
    writer       text        not null default current_setting('application_name'),
    id           bigint      not null,
    old_status   text,
    status       text        not null,
    old_attempts integer,
    attempts     integer     not null,
    max_attempts integer     not null,
    old_holder   text,
    holder       text,
    old_lease    timestamptz
);

create function chaos.note() returns trigger
    language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        insert into chaos.history (id, status, attempts, max_attempts)
        values (new.id, new.status, new.attempts, new.max_attempts);
    else
        insert into chaos.history (id, old_status, status, old_attempts, attempts, max_attempts,
                                   old_holder, holder, old_lease)
        values (new.id, old.status, new.status, old.attempts, new.attempts, new.max_attempts,
                old.holder, new.holder, old.lease_expires_at);
    end if;
    return null;
end
$$;

create trigger chaos_history after insert or update on notifications.notification_deliveries
    for each row execute function chaos.note();
