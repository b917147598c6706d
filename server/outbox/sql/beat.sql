-- Says that a worker is there, and forgets those that have been silent for long.
with silent as (
    delete from notifications.workers
     where holder <> %(holder)s and seen_at < statement_timestamp() - 20 * beat
)
insert into notifications.workers (holder, host, pid, beat)
values (%(holder)s, %(host)s, %(pid)s, make_interval(secs => %(beat_s)s))
    on conflict (holder) do update set seen_at = clock_timestamp(), beat = excluded.beat
