#!lua flags=allow-oom
-- What a running job notes about itself, under its claim's token.
-- KEYS[1]  the queue's base; [2] its meta hash
-- ARGV[1]  id; [2] token
-- ARGV[3]  progress (ARGV[4] is a number from 0 to 1), once (ARGV[4] names an effect), extend
--          (ARGV[4] is ms from now)
-- ARGV[5]  names the call, so that once, sent twice by the client, gets the same answer
-- Returns  1 if noted; 0 if the effect was noted before, by this run or an earlier one; -1 if the job
--          is not this run's any longer
-- include shared/queue.lua
local id, token, what, given = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local job = redis.call('HMGET', job_key(id), 'token', 'state')
if tonumber(job[1]) ~= token or job[2] ~= 'active' then return -1 end
if what == 'progress' then
  redis.call('HSET', job_key(id), 'progress', given)
elseif what == 'extend' then
  redis.call('ZADD', place('active'), 'XX', 'GT', now + tonumber(given), id)
else
  local key, call = base .. ':once:' .. id, ARGV[2] .. ' ' .. ARGV[5]
  if redis.call('HSETNX', key, given, call) == 1 then return 1 end
  return redis.call('HGET', key, given) == call and 1 or 0
end
return 1
