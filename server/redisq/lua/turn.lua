#!lua flags=allow-oom
-- One turn of a worker: settle what is finished, bring back what is due or was lost, claim what fits.
-- KEYS[1]  the queue's base; [2] its meta hash
-- ARGV[1]  the worker's id; [3] how many jobs it wants; [4] lease ms
-- ARGV[2]  its turn's number. A `w` follows if the turn was sent behind the wait for a wake-up: such
--          turns are numbered apart, since others may be sent while one of them waits
-- ARGV[5]  names of its tasks, each between two commas (',a,b,'), or '*' for all
-- ARGV[6]  ms for which a job of an unknown name waits for a worker that knows it
-- ARGV[7]  outcomes, a line each: id, token, kind, delay ms, and how many bytes of ARGV[8] are its text
-- ARGV[8]  the texts, one right after another
--          kind done (text is the result), retry (after delay; text is the error), dead (text is the
--          error), release (given back, no attempt is counted), snooze (again after delay), cancelled
--          (somebody asked for that). What is to be cancelled does not wait again.
-- Returns  {now, {verdict, …}, {job, …}, ms until something falls due or -1, whether paused, whether
--          more is ready than was wanted, {question, …}}
--          a verdict is ok or late; a job is {id, token, task, payload, attempts, lost, timeout ms,
--          queued ms, due ms, max attempts}; a question is {name, version, cron, zone, after ms}: when
--          is the next time of that series? (see shared/repeats.lua)
--          {'stale'} if the worker has already sent a later turn
-- Sent twice with one number, the second changes nothing and gets the same answer.
-- Runs when memory is full: it is how memory is freed.
-- Invariants: a job is in exactly one place; an outcome counts only under the token of the last
-- claim; a token is never given twice.
-- include shared/queue.lua
-- include shared/ending.lua
-- include shared/repeats.lua
local worker, want, lease = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
local number, lane = string.match(ARGV[2], '^(%d+)(w?)$')
local seq = tonumber(number)
local known, unknown_ms, outcomes, texts = ARGV[5], tonumber(ARGV[6]), ARGV[7], ARGV[8]
local worker_key, held = base .. ':worker:' .. worker, base .. ':held:' .. worker
local BOUND = 100
local TAKEN = { 'token', 'task', 'payload', 'attempts', 'lost', 'timeout_ms', 'queued_ms',
  'due_ms', 'max_attempts' }

-- The first score in a place; without end if nothing is there.
local function first(state)
  return tonumber(redis.call('ZRANGE', place(state), 0, 0, 'WITHSCORES')[2]) or math.huge
end

local function until_then(at) return at == math.huge and -1 or math.max(0, at - now) end

local last = tonumber(redis.call('HGET', worker_key, 'seq' .. lane))
if last and seq < last then return { 'stale' } end
if last and seq == last then
  local reply = cmsgpack.unpack(redis.call('HGET', worker_key, 'reply' .. lane))
  local jobs = {}
  for _, claim in ipairs(reply.claims) do
    local job = redis.call('HMGET', job_key(claim[1]), unpack(TAKEN))
    -- What has moved on since is not this worker's any longer.
    if tonumber(job[1]) == claim[2] and redis.call('ZSCORE', place('active'), claim[1]) then
      jobs[#jobs + 1] = { claim[1], unpack(job) }
    end
  end
  local due = until_then(math.min(first('active'), first('scheduled'), first('repeats')))
  return { now, reply.verdicts, jobs, due, reply.paused, 0, {} }
end

-- Settle.
local inactive, done, stored = {}, {}, 0
local NEEDED = { 'token', 'state', 'unique', 'keep_ms', 'claimed_ms', 'size' }
local NEEDED_ELSE = { 'token', 'state', 'unique', 'attempts', 'max_attempts', 'priority', 'due_ms',
  'cancel' }
local function settle(id, token, kind, delay, text)
  local needed = kind == 'done' and NEEDED or NEEDED_ELSE
  local job = redis.call('HMGET', job_key(id), unpack(needed))
  local state, unique = job[2], job[3]
  if not state or tonumber(job[1]) ~= token then return 'late' end
  if state == 'active' then
    inactive[#inactive + 1] = id
  elseif kind == 'done' and (state == 'ready' or state == 'scheduled') then
    -- The lease ran out, but nobody has claimed the job since: what was done is done.
    redis.call('ZREM', place(state), id)
  else
    return 'late'
  end
  if kind == 'done' then
    local keep = tonumber(job[4]) or limits.keep_ms.done
    local ran = now - tonumber(job[5])
    count('done')
    count('~r' .. bucket(ran))
    free_unique(id, unique)
    if keep <= 0 then
      redis.call('DEL', job_key(id), base .. ':log:' .. id, base .. ':once:' .. id)
    else
      local bytes = tonumber(job[6]) + #text
      done[#done + 1] = now + keep
      done[#done + 1] = id
      redis.call('HSET', job_key(id), 'state', 'done', 'ended_ms', now, 'bytes', bytes,
        'result', text)
      stored = stored + bytes
    end
  elseif kind == 'retry' then
    local attempts = tonumber(job[4]) + 1
    redis.call('HSET', job_key(id), 'attempts', attempts, 'error', text)
    count('failed')
    tell(id, 'failed', text)
    if attempts >= tonumber(job[5]) then
      put_dead(id, 'exhausted', text, unique)
    elseif job[8] then
      put_cancelled(id, unique)
    else
      put_scheduled(id, now + delay)
    end
  elseif kind == 'dead' then
    redis.call('HINCRBY', job_key(id), 'attempts', 1)
    count('failed')
    put_dead(id, 'refused', text, unique)
  elseif kind == 'cancelled' or job[8] then
    put_cancelled(id, unique)
  elseif kind == 'snooze' then
    put_scheduled(id, now + delay)
  else
    put_ready(id, tonumber(job[6]), tonumber(job[7]))
    tell(id, 'released', worker)
  end
  return 'ok'
end

local verdicts, gone, settled, read = {}, {}, 0, 0
for id, token, kind, delay, bytes in string.gmatch(outcomes, '(%S+) (%d+) (%a+) (%d+) (%d+)') do
  local text = string.sub(texts, read + 1, read + bytes)
  read = read + bytes
  settled = settled + 1
  verdicts[settled] = settle(id, tonumber(token), kind, tonumber(delay), text)
  if verdicts[settled] == 'ok' then
    gone[#gone + 1] = id
  else
    count('late')
    -- It may be held in a later run; without a hash there is none.
    if redis.call('EXISTS', job_key(id)) == 1 then tell(id, 'late', worker) else gone[#gone + 1] = id end
  end
end
if #gone > 0 then redis.call('SREM', held, unpack(gone)) end
if #inactive > 0 then redis.call('ZREM', place('active'), unpack(inactive)) end
if #done > 0 then
  redis.call('ZADD', place('done'), unpack(done))
  keep_bytes(stored)
end

-- What is older than the queue keeps is looked for now and then, and by those who have nothing else
-- to do; who waited has a job before it.
local aged = settled == 0 and lane == '' or now - (saved.trimmed_ms or 0) >= 1000
local more = false
if aged or #done > 0 then more = trim('done', BOUND, aged) end
if aged or died then more = trim('dead', BOUND, aged) or more end
if aged and (settled > 0 or lane == 'w') and not more then mark('trimmed_ms', now) end

-- Bring back what was lost, and what is due.
local lease_ends = first('active')
if lease_ends <= now then
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', place('active'), '-inf', now, 'LIMIT', 0, BOUND)) do
    local job = redis.call('HMGET', job_key(id), 'lost', 'unique', 'worker', 'cancel')
    if job[3] then
      redis.call('ZREM', place('active'), id)
      redis.call('SREM', base .. ':held:' .. job[3], id)
      put_lost(id, tonumber(job[1]), job[2], job[4])
    else
      drop(id, 'active')
    end
  end
  lease_ends = first('active')
end
local falls_due = first('scheduled')
if falls_due <= now then
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', place('scheduled'), '-inf', now, 'LIMIT', 0, BOUND)) do
    local job = redis.call('HMGET', job_key(id), 'priority', 'due_ms')
    if job[1] then
      redis.call('ZREM', place('scheduled'), id)
      put_ready(id, tonumber(job[1]), tonumber(job[2]))
    else
      drop(id, 'scheduled')
    end
  end
  falls_due = first('scheduled')
end
local questions = {}
if (saved.repeats_ms or math.huge) <= now then questions = repeat_due(BOUND) end
falls_due = math.min(falls_due, saved.repeats_ms or math.huge)

-- Claim. `room` is what the queue allows; this worker takes no more than it wants.
local paused = saved.paused and 1 or 0
local room = paused == 1 and 0 or math.huge
if saved.concurrency then
  room = math.min(room, saved.concurrency - redis.call('ZCARD', place('active')))
end
-- A leaky bucket in one number: the time at which it would be empty.
local interval, tat
local rate_ms = saved.rate_ms
if saved.rate_count then
  interval = rate_ms / saved.rate_count
  tat = math.max(saved.tat or 0, now)
  room = math.min(room, math.floor((now + rate_ms - tat) / interval + 0.001))
end

-- Where no worker has known a task for long, its jobs are dead; else they wait for one.
local function put_unknown(id, task)
  local job = redis.call('HMGET', job_key(id), 'unknown_since', 'unique')
  local since = tonumber(job[1]) or now
  if not job[1] then redis.call('HSET', job_key(id), 'unknown_since', now) end
  since = math.max(since, tonumber(redis.call('HGET', base .. ':known', task)) or 0)
  if now - since >= unknown_ms then
    put_dead(id, 'no-handler', 'no worker knows a task ' .. task, job[2])
  else
    put_scheduled(id, now + 1000)
    falls_due = math.min(falls_due, now + 1000)
    -- One that knows it may sleep, and does not know when to look.
    wake()
  end
end

local jobs, claims, leases, ids = {}, {}, {}, {}
local most = math.min(want, room)
-- The clock in it keeps a token from being given twice where a failover forgot the last ones.
local token = math.max(saved.token or 0, micros)
local looked, emptied = 0, false
while #ids < most and looked < BOUND do
  local asked = math.min(most - #ids, BOUND - looked)
  local popped = redis.call('ZPOPMIN', place('ready'), asked)
  emptied = #popped < 2 * asked
  for i = 1, #popped, 2 do
    local id = popped[i]
    local job = redis.call('HMGET', job_key(id), unpack(TAKEN))
    looked = looked + 1
    if not job[2] then
      count('dropped')
    elseif known == '*' or string.find(known, ',' .. job[2] .. ',', 1, true) then
      token = token + 1
      job[1] = token
      redis.call('HSET', job_key(id), 'state', 'active', 'token', token, 'worker', worker,
        'claimed_ms', now)
      leases[#leases + 1] = now + lease
      leases[#leases + 1] = id
      ids[#ids + 1] = id
      claims[#claims + 1] = { id, token }
      jobs[#jobs + 1] = { id, unpack(job) }
      count('~w' .. bucket(math.max(0, now - tonumber(job[8]))))
    else
      put_unknown(id, job[2])
    end
  end
  if emptied then break end
end
if #ids > 0 then
  redis.call('ZADD', place('active'), unpack(leases))
  redis.call('SADD', held, unpack(ids))
  lease_ends = math.min(lease_ends, now + lease)
  count('claimed', #ids)
  mark('token', token)
  if interval then
    tat = tat + #ids * interval
    mark('tat', tat)
  end
end

local due, more = until_then(math.min(lease_ends, falls_due)), 0
if not emptied and redis.call('ZCARD', place('ready')) > 0 then
  if #ids < want and looked >= BOUND then
    -- Others' jobs were in the way, and there is more behind them.
    due = 0
  elseif #ids < room and #ids >= want then
    -- What this worker has no hands for may be another's.
    wake()
    more = 1
  elseif interval and paused == 0 then
    local rate_wait = math.ceil(math.max(0, tat + interval - now - rate_ms))
    if rate_wait > 0 and (due < 0 or rate_wait < due) then due = rate_wait end
  end
end

write_down()
redis.call('HSET', worker_key, 'seq' .. lane, seq,
  'reply' .. lane, cmsgpack.pack({ verdicts = verdicts, claims = claims, paused = paused }))
-- Then its heartbeats prolong it.
if not last then redis.call('PEXPIRE', worker_key, math.max(lease * 4, 60000)) end
return { now, verdicts, jobs, due, paused, more, questions }
