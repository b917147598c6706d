#!lua flags=allow-oom
-- A worker says that it lives and what it holds.
-- KEYS[1]  the queue's base; [2] its meta hash
-- ARGV[1]  the worker's id; [2] the number of its last answered turn, and [3] of its last answered
--          turn that waited; [4] lease ms
-- ARGV[5]  how it describes itself (opaque text)
-- ARGV[6]  how many tasks it knows, and their names; then id and token of each job that it holds
-- Returns  {now, {token that it has lost, …}, {token of what somebody asked to cancel, …}}
-- Extends the lease of what is still its own. A job that is held in its name and that it does not
-- name is one that it never heard of: that waits again at once.
-- Invariant: a job is in exactly one place.
-- include shared/queue.lua
-- include shared/ending.lua
local worker, seq, waited = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local lease, about = tonumber(ARGV[4]), ARGV[5]
local worker_key, held = base .. ':worker:' .. worker, base .. ':held:' .. worker
local FORGOTTEN_MS = 900000

local lost, cancelled, named = {}, {}, {}
local tasks = tonumber(ARGV[6])
for at = 7 + tasks, #ARGV, 2 do
  local id, token = ARGV[at], tonumber(ARGV[at + 1])
  named[id] = true
  local job = redis.call('HMGET', job_key(id), 'token', 'state', 'cancel')
  if tonumber(job[1]) == token and job[2] == 'active' then
    -- Never shorter: a job may have asked for more.
    redis.call('ZADD', place('active'), 'XX', 'GT', now + lease, id)
    if job[3] then cancelled[#cancelled + 1] = token end
  else
    lost[#lost + 1] = token
  end
end

-- A turn that is on its way may have claimed more than the worker knows.
local turns = redis.call('HMGET', worker_key, 'seq', 'seqw')
if tonumber(turns[1]) == seq and (tonumber(turns[2]) or 0) == waited then
  for _, id in ipairs(redis.call('SMEMBERS', held)) do
    if not named[id] then
      local job = redis.call('HMGET', job_key(id), 'state', 'worker', 'priority', 'due_ms',
        'unique', 'cancel')
      redis.call('SREM', held, id)
      if job[1] == 'active' and job[2] == worker then
        redis.call('ZREM', place('active'), id)
        tell(id, 'unheard', worker)
        if job[6] then
          put_cancelled(id, job[5])
        else
          put_ready(id, tonumber(job[3]), tonumber(job[4]))
          wake()
        end
      end
    end
  end
end

write_down()
for at = 7, 6 + tasks do redis.call('HSET', base .. ':known', ARGV[at], now) end
redis.call('HSET', worker_key, 'about', about, 'beat_ms', now)
redis.call('PEXPIRE', worker_key, math.max(lease * 4, 60000))
redis.call('ZADD', base .. ':workers', now, worker)
redis.call('ZREMRANGEBYSCORE', base .. ':workers', '-inf', now - FORGOTTEN_MS)
return { now, lost, cancelled }
