-- Keeps the depth as this minute's sample, unless somebody was faster, and drops old samples.
with old as (
    delete from notifications.depth_history
     where minute < statement_timestamp() - make_interval(secs => %(keep_s)s)
)
insert into notifications.depth_history
       (minute, pending, due, processing, sent, failed, dead, live_workers, oldest_due_age_s)
values (date_trunc('minute', %(as_of)s::timestamptz), %(pending)s, %(due)s, %(processing)s,
        %(sent)s, %(failed)s, %(dead)s, %(live_workers)s, %(oldest_due_age_s)s)
    on conflict (minute) do nothing
returning minute
