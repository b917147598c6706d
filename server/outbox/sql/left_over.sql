-- What waits at this moment, told apart by whether these channels can take it.
select count(*) filter (where due and known)         as due,
       count(*) filter (where due and not known)     as due_elsewhere,
       count(*) filter (where not due)               as waiting,
       min(next_attempt_at) filter (where known)     as next_due_at
  from (select next_attempt_at,
               next_attempt_at <= statement_timestamp() as due,
               channel = any(%(channels)s::text[]) as known
          from notifications.notification_deliveries
         where status = 'pending') as pending
