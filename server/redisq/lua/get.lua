#!lua flags=no-writes
-- Looks at one job.
-- KEYS[1]  the queue's base; [2] its meta hash
-- ARGV[1]  its id
-- Returns  {its hash as names and values, its log, its lease's end or ''}; the hash is empty if there is
--          no such job
-- include shared/queue.lua
local id = ARGV[1]
return {
  redis.call('HGETALL', job_key(id)),
  redis.call('LRANGE', base .. ':log:' .. id, 0, -1),
  redis.call('ZSCORE', place('active'), id) or '',
}
