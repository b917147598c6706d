-- What workers hold at this moment, the oldest claims first.
select id, channel, attempts as attempt, max_attempts, holder, attempted_at, lease_expires_at
  from notifications.notification_deliveries
 where status = 'processing'
 order by id
 limit %(limit)s
