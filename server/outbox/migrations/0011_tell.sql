-- One function tells all changes: the look whether anybody watches and the notification stand in it
-- once. It runs with the rights of whoever made the schema, as those that it replaces: a program
-- that writes deliveries need not have any on the log.
--
-- Of an update, what the change was is read off both rows, and where an attempt ended off the
-- attempt log, which the same statement has written.
create function notifications.tell() returns trigger
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if not exists (select from notifications.event_log
                    where recorded_until > statement_timestamp()) then
        return null;
    end if;
    if tg_name = 'events_added' then
        insert into notifications.delivery_events
               (change, delivery_id, channel, to_status, attempt, current_attempt, max_attempts,
                next_attempt_at)
        select 'enqueue', id, channel, status, attempts, attempts, max_attempts, next_attempt_at
          from added
         order by id;
    elsif tg_name = 'events_changed' then
        insert into notifications.delivery_events
               (change, delivery_id, channel, from_status, to_status, attempt, current_attempt,
                max_attempts, holder, lease_expires_at, next_attempt_at,
                outcome, class, error, verdict)
        select case when r.status = 'processing' and a.status = 'processing' then 'extend'
                    when a.status = 'processing' then 'claim'
                    when r.status in ('failed', 'dead') and a.status = 'pending' then 'retry'
                    when a.settle_class = 'cancelled' then 'cancel'
                    when e.outcome = 'lost' then 'reap'
                    when e.outcome = 'released' then 'release'
                    when e.outcome is not null then 'settle'
                    else 'edit'
               end,
               a.id, a.channel, r.status, a.status, a.attempts, a.attempts, a.max_attempts,
               coalesce(a.holder, r.holder), a.lease_expires_at, a.next_attempt_at,
               e.outcome, e.class, left(e.error, 300), e.verdict
          from removed as r
          join added as a using (id)
          left join lateral (
               select outcome, class, error, verdict
                 from notifications.delivery_attempts
                where delivery_id = a.id
                  and attempt = a.attempts
                  and verdict <> 'refused'
                order by entry desc
                limit 1) as e
            on a.status <> 'processing' and (r.status = 'processing' or a.status = 'sent')
         where r.status <> a.status
            or r.lease_expires_at is distinct from a.lease_expires_at
            or r.next_attempt_at <> a.next_attempt_at
         order by a.id;
    else
        insert into notifications.delivery_events
               (change, delivery_id, channel, from_status, to_status, attempt, current_attempt,
                max_attempts, holder, next_attempt_at, outcome, class, error, verdict)
        select 'refuse', d.id, d.channel, d.status, d.status, new.attempt, d.attempts,
               d.max_attempts, new.holder, d.next_attempt_at,
               new.outcome, new.class, left(new.error, 300), new.verdict
          from notifications.notification_deliveries as d
         where d.id = new.delivery_id;
    end if;
    if found then
        perform pg_notify('delivery_events', '');
    end if;
    return null;
end
$$;

drop trigger events_added on notifications.notification_deliveries;
drop trigger events_changed on notifications.notification_deliveries;
drop trigger events_refused on notifications.delivery_attempts;
drop function notifications.tell_added(), notifications.tell_changed(),
    notifications.tell_refused();

create trigger events_added after insert on notifications.notification_deliveries
    referencing new table as added
    for each statement execute function notifications.tell();

create trigger events_changed after update on notifications.notification_deliveries
    referencing old table as removed new table as added
    for each statement execute function notifications.tell();

create trigger events_refused after insert on notifications.delivery_attempts
    for each row when (new.verdict = 'refused')
    execute function notifications.tell();
