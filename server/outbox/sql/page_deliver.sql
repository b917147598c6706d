-- Shows a message; showing the same delivery again only raises `copies`.
insert into notifications.page_messages as m (delivery_id, recipient, text, attempt)
values (%(delivery_id)s, %(recipient)s, %(text)s, %(attempt)s)
    on conflict (delivery_id) do update
       set copies = m.copies + 1, attempt = excluded.attempt
