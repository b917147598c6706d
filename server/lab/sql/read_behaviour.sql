-- How a channel of the lab behaves at this moment.
select down, refuses, fails, takes_s from lab.channels where name = %(name)s
