-- Lets a channel of the lab behave so from now on.
update lab.channels
   set down = %(down)s, refuses = %(refuses)s, fails = %(fails)s, takes_s = %(takes_s)s
 where name = %(name)s
