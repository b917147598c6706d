-- Names of a queue's keys, the server's clock, and moves of a job from one place to another.
-- KEYS[1] is the queue's base, such as jq:{mail}; every key of the queue begins with it, and the
-- braces put all of them into one slot of a cluster. No script touches a key that does not.
-- KEYS[2], the meta hash, is named beside the base, which is no key itself, for the cluster's sake:
-- while the slot is moved key by key, a script of two keys of which one is missing is refused
-- (TRYAGAIN) on both sides, so that the queue rests until all of it has arrived. One key alone would
-- let the script run on the new side, where the queue seems to be empty.
-- A job's `state` names the one sorted set that has its id: ready, scheduled, active, done, dead.
local base = KEYS[1]
local meta = base .. ':meta'
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
-- Microseconds since 1970, exact in a Lua number until the year 2255.
local micros = clock[1] * 1000000 + clock[2]

local function job_key(id) return base .. ':job:' .. id end
local function place(state) return base .. ':' .. state end

-- A priority is a head start in time, so nothing waits for ever behind more urgent jobs.
local function ready_score(due, priority, boost) return due - priority * boost end

-- Wakes one waiting worker, if none has been told already.
local function wake()
  if redis.call('LLEN', base .. ':wake') == 0 then redis.call('RPUSH', base .. ':wake', 1) end
end

-- Writes the hash of a job that is new, and takes its unique key.
local function write_new(id, state, due, task, payload, priority, max_attempts, timeout, keep, unique)
  redis.call('HSET', job_key(id), 'task', task, 'payload', payload, 'state', state,
    'priority', priority, 'max_attempts', max_attempts, 'timeout_ms', timeout, 'keep_ms', keep,
    'unique', unique, 'attempts', 0, 'lost', 0, 'token', 0, 'queued_ms', now, 'due_ms', due,
    'size', #payload)
  if unique ~= '' then redis.call('SET', base .. ':unique:' .. unique, id) end
end

-- What `act` returns; for a call that comes a second time, what it returned the first time.
local function answer_once(call, act)
  local key = base .. ':call:' .. call
  local before = redis.call('GET', key)
  if before then return cmsgpack.unpack(before) end
  local answer = act()
  redis.call('SET', key, cmsgpack.pack(answer), 'PX', 120000)
  return answer
end
