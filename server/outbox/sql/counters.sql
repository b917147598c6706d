-- Every counter there is.
select name, subject, detail, value from notifications.counters order by name, subject, detail
