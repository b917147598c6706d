-- What is due in each channel, and since when, with the channels that no worker knows among them.
-- Costs a scan of what is pending: for a person who asks, not for the worker's loop.
select channel,
       count(*) as due,
       min(next_attempt_at) as oldest_due_at
  from notifications.notification_deliveries
 where status = 'pending'
   and next_attempt_at <= statement_timestamp()
 group by channel
 order by channel
