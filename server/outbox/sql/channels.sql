-- Every channel that has rows waiting or is paused. Costs a look at each pending row.
with waiting as (
    select channel,
           count(*) as pending,
           count(*) filter (where next_attempt_at <= statement_timestamp()) as due
      from notifications.notification_deliveries
     where status = 'pending'
     group by channel
)
select channel,
       coalesce(w.pending, 0) as pending,
       coalesce(w.due, 0) as due,
       p.paused_at,
       p.reason
  from waiting as w
  full join notifications.paused_channels as p using (channel)
 order by channel
