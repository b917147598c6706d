-- Shows a message; showing the same delivery again only raises `copies`.
-- One at a time: a position that is drawn earlier is then committed earlier, and no reader passes
-- it. The number of the transaction alone would not do, since the younger of two may draw first.
insert into notifications.page_messages as m (delivery_id, recipient, text, attempt)
select %(delivery_id)s::bigint, %(recipient)s::text, %(text)s::text, %(attempt)s::int
  from (select pg_advisory_xact_lock(x'70616765'::int)) as alone
    on conflict (delivery_id) do update
       set copies = m.copies + 1, attempt = excluded.attempt
