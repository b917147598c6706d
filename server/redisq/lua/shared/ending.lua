-- How a job that has left its place comes to rest: waiting again, done, or dead.
-- Needs shared/queue.lua. The queue's meta hash is read once a script, here, and written once, by
-- write_down: so whoever includes this calls that at its end, and changes meta by `mark` alone.
local saved = {}
do
  local names = { 'boost_ms', 'keep_done_ms', 'keep_dead_ms', 'keep_done', 'keep_dead', 'keep_bytes',
    'max_lost', 'paused', 'concurrency', 'rate_count', 'rate_ms', 'tat', 'token', 'done_bytes',
    'trimmed_ms', 'repeats_ms', 'total_done', 'total_failed', 'total_late', 'total_lost', 'total_dead',
    'total_dropped', 'total_claimed' }
  local values = redis.call('HMGET', meta, unpack(names))
  for i, name in ipairs(names) do saved[name] = tonumber(values[i]) end
end
local limits = {
  boost = saved.boost_ms or 60000,
  keep_ms = { done = saved.keep_done_ms or 86400000, dead = saved.keep_dead_ms or 7776000000 },
  keep = { done = saved.keep_done or 10000, dead = saved.keep_dead or 100000 },
  bytes = saved.keep_bytes or 268435456,
  max_lost = saved.max_lost or 3,
}

local marked = {}
local function mark(name, value)
  saved[name] = value
  marked[name] = value
end

local function keep_bytes(more) mark('done_bytes', (saved.done_bytes or 0) + more) end

-- What a script adds to the queue's counters.
local counted = {}
local function count(name, by) counted[name] = (counted[name] or 0) + (by or 1) end

local function write_down()
  local names, fields = {}, {}
  for name, by in pairs(counted) do
    names[#names + 1] = name
    if string.sub(name, 1, 1) ~= '~' then
      local total = 'total_' .. name
      mark(total, (saved[total] or 0) + by)
    end
  end
  if #names > 0 then
    local minute = base .. ':minute:' .. math.floor(now / 60000)
    local before = redis.call('HMGET', minute, unpack(names))
    local fresh = true
    for i, name in ipairs(names) do
      if before[i] then fresh = false end
      fields[#fields + 1] = name
      fields[#fields + 1] = (tonumber(before[i]) or 0) + counted[name]
    end
    redis.call('HSET', minute, unpack(fields))
    if fresh then redis.call('EXPIRE', minute, 172800) end
  end
  fields = {}
  for name, value in pairs(marked) do
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
  if #fields > 0 then redis.call('HSET', meta, unpack(fields)) end
end

-- Power of two below a span, for a histogram of waits and runs: ~w4 counts 8 to 15 ms.
local function bucket(ms)
  if ms < 1 then return 0 end
  local _, exponent = math.frexp(ms)
  return math.min(exponent, 40)
end

local function free_unique(id, unique)
  if unique and unique ~= '' then
    local key = base .. ':unique:' .. unique
    if redis.call('GET', key) == id then redis.call('DEL', key) end
  end
end

local function forget(state, ids)
  if #ids == 0 then return end
  local keys, bytes = {}, 0
  for _, id in ipairs(ids) do
    local job = redis.call('HMGET', job_key(id), 'bytes', 'unique')
    bytes = bytes + (tonumber(job[1]) or 0)
    free_unique(id, job[2])
    keys[#keys + 1] = job_key(id)
    keys[#keys + 1] = base .. ':log:' .. id
    keys[#keys + 1] = base .. ':once:' .. id
  end
  redis.call('ZREM', place(state), unpack(ids))
  redis.call('DEL', unpack(keys))
  if state == 'done' then keep_bytes(-bytes) end
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

local died = false
local function put_dead(id, reason, message, unique)
  died = true
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

-- Forgets what is more or larger than the queue keeps, and what is older if `aged`, up to a bound.
-- Tells whether there may be more of it.
local function trim(state, most, aged)
  local set, more = place(state), false
  if aged then
    local old = redis.call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, most)
    forget(state, old)
    more = #old == most
  end
  local over = redis.call('ZCARD', set) - limits.keep[state]
  if over > 0 then
    local first = redis.call('ZRANGE', set, 0, math.min(over, most) - 1)
    forget(state, first)
    if state == 'dead' then redis.call('HINCRBY', meta, 'dead_dropped', #first) end
    more = more or over > most
  end
  if state == 'done' then
    for _ = 1, most do
      if (saved.done_bytes or 0) <= limits.bytes then break end
      local oldest = redis.call('ZRANGE', set, 0, 0)
      if #oldest == 0 then break end
      forget(state, oldest)
    end
  end
  return more
end
