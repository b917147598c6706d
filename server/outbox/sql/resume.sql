-- Ends the pause of a channel; returns it if it was paused.
delete from notifications.paused_channels where channel = %(channel)s returning channel
