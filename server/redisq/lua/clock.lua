#!lua flags=no-writes
-- Tells the time by which the queue goes; a script, so that in a cluster the queue's own node answers.
-- KEYS[1]  the queue's base; [2] its meta hash
-- Returns  {seconds since 1970, microseconds}
-- include shared/queue.lua
return clock
