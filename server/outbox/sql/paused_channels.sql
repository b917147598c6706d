-- The channels that an operator has paused, by name.
select channel, paused_at, reason
  from notifications.paused_channels
 order by channel
 limit %(limit)s
