-- Whether this minute has no sample yet.
select not exists (
       select from notifications.depth_history
        where minute = date_trunc('minute', statement_timestamp())) as missing
