-- How a job that has left its place comes to rest: waiting again, done, or dead.
-- Needs shared/queue.lua. `limits` is read from the queue's meta hash once a script.
local limits = {}
do
  local given = redis.call('HMGET', meta, 'boost_ms', 'keep_done_ms', 'keep_dead_ms',
    'keep_done', 'keep_dead', 'keep_bytes', 'max_lost')
  limits.boost = tonumber(given[1]) or 60000
  limits.keep_ms = { done = tonumber(given[2]) or 86400000, dead = tonumber(given[3]) or 7776000000 }
  limits.keep = { done = tonumber(given[4]) or 10000, dead = tonumber(given[5]) or 100000 }
  limits.bytes = tonumber(given[6]) or 268435456
  limits.max_lost = tonumber(given[7]) or 3
end

-- What a turn adds to the queue's counters, written once at its end.
local counted = {}
local function count(name, by) counted[name] = (counted[name] or 0) + (by or 1) end

local function write_counts()
  local minute = base .. ':minute:' .. math.floor(now / 60000)
  local fresh = next(counted) ~= nil
  for name, by in pairs(counted) do
    redis.call('HINCRBY', minute, name, by)
    if string.sub(name, 1, 1) ~= '~' then redis.call('HINCRBY', meta, 'total_' .. name, by) end
  end
  if fresh then redis.call('EXPIRE', minute, 172800) end
end

-- Power of two below a span, for a histogram of waits and runs: ~w4 counts 8 to 15 ms.
local function bucket(ms)
  local exponent = 0
  while ms >= 1 and exponent < 40 do
    ms = ms / 2
    exponent = exponent + 1
  end
  return exponent
end

local function free_unique(id, unique)
  if unique and unique ~= '' then
    local key = base .. ':unique:' .. unique
    if redis.call('GET', key) == id then redis.call('DEL', key) end
  end
end

local function forget(state, id)
  local job = redis.call('HMGET', job_key(id), 'bytes', 'unique')
  redis.call('ZREM', place(state), id)
  redis.call('DEL', job_key(id), base .. ':log:' .. id, base .. ':once:' .. id)
  if state == 'done' then redis.call('HINCRBY', meta, 'done_bytes', -(tonumber(job[1]) or 0)) end
  free_unique(id, job[2])
end

-- Notes something that is not the usual course, so that a job's story can be told.
local function tell(id, what, detail)
  local key = base .. ':log:' .. id
  redis.call('RPUSH', key, now .. ' ' .. what .. ' ' .. (detail or ''))
  redis.call('LTRIM', key, -20, -1)
end

local function put_ready(id, priority, due)
  redis.call('ZADD', place('ready'), ready_score(due, priority, limits.boost), id)
  redis.call('HSET', job_key(id), 'state', 'ready', 'due_ms', due)
end

local function put_scheduled(id, due)
  redis.call('ZADD', place('scheduled'), due, id)
  redis.call('HSET', job_key(id), 'state', 'scheduled', 'due_ms', due)
end

local function put_dead(id, reason, message, unique)
  redis.call('ZADD', place('dead'), now + limits.keep_ms.dead, id)
  redis.call('HSET', job_key(id), 'state', 'dead', 'reason', reason, 'error', message,
    'ended_ms', now)
  free_unique(id, unique)
  tell(id, 'dead', reason)
  count('dead')
end

local function put_cancelled(id, unique)
  put_dead(id, 'cancelled', 'cancelled while it ran', unique)
end

-- A worker vanished with the job. That is not the job's failure, unless it happens again and again.
local function put_lost(id, lost, unique, cancel)
  lost = lost + 1
  redis.call('HSET', job_key(id), 'lost', lost)
  count('lost')
  tell(id, 'lost', lost)
  if cancel then
    put_cancelled(id, unique)
  elseif lost >= limits.max_lost then
    put_dead(id, 'lost', 'the worker vanished ' .. lost .. ' times while it ran this job', unique)
  else
    put_scheduled(id, now + math.min(1000 * 2 ^ (lost - 1), 60000))
  end
end

-- An id without a hash, since somebody else deleted or evicted it: nothing is left to run.
local function drop(id, state)
  redis.call('ZREM', place(state), id)
  count('dropped')
end

-- Forgets what is older, more, or larger than the queue keeps, up to a bound.
local function trim(state, most)
  local set = place(state)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, most)) do
    forget(state, id)
  end
  local over = redis.call('ZCARD', set) - limits.keep[state]
  if over > 0 then
    for _, id in ipairs(redis.call('ZRANGE', set, 0, math.min(over, most) - 1)) do
      forget(state, id)
      if state == 'dead' then redis.call('HINCRBY', meta, 'dead_dropped', 1) end
    end
  end
  if state == 'done' then
    for _ = 1, most do
      if tonumber(redis.call('HGET', meta, 'done_bytes') or 0) <= limits.bytes then break end
      local oldest = redis.call('ZRANGE', set, 0, 0)[1]
      if not oldest then break end
      forget(state, oldest)
    end
  end
end
