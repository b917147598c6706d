-- Names of a queue's keys, the server's clock, and moves of a job from one place to another.
-- KEYS[1] is the queue's base, such as jq:{mail}; every key of the queue begins with it, and the
-- braces put all of them into one slot of a cluster.
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
