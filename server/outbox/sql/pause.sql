-- Parks a channel: its rows wait and spend no attempts. Pausing again only changes the reason.
insert into notifications.paused_channels as p (channel, reason)
values (%(channel)s, %(reason)s)
    on conflict (channel) do update set reason = coalesce(excluded.reason, p.reason)
