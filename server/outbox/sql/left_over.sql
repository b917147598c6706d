-- What waits at this moment, told apart by whether these channels can take it, and whether an
-- operator has paused them.
select count(*) filter (where due and known and not paused)     as due,
       count(*) filter (where due and not known and not paused) as due_elsewhere,
       count(*) filter (where due and paused)                   as due_paused,
       count(*) filter (where not due)                          as waiting,
       min(next_attempt_at) filter (where known and not paused) as next_due_at,
       coalesce(array_agg(distinct channel) filter (where due and known and not paused), '{}')
           as due_channels
  from (select channel,
               next_attempt_at,
               next_attempt_at <= statement_timestamp() as due,
               channel = any(%(channels)s::text[]) as known,
               channel = any(array(select channel from notifications.paused_channels)) as paused
          from notifications.notification_deliveries
         where status = 'pending') as pending
