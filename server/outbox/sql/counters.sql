-- Every counter there is.
select name, subject, bound, value from notifications.counters order by name, subject, bound
