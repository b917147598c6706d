#!lua flags=allow-oom
-- One turn of a worker: settle what is finished, bring back what is due or was lost, claim what fits.
-- KEYS[1]  the queue's base
-- ARGV[1]  the worker's id; [2] its turn's number; [3] how many jobs it wants; [4] lease ms
-- ARGV[5]  names of its tasks, each between two commas (',a,b,'), or '*' for all
-- ARGV[6]  ms for which a job of an unknown name waits for a worker that knows it
-- ARGV[7]  how many outcomes follow; five values each:
--          id, token, kind, delay ms, text
--          kind done (text is the result), retry (after delay; text is the error), dead (text is the
--          error), release (given back, no attempt is counted), snooze (again after delay), cancelled
--          (somebody asked for that). What is to be cancelled does not wait again.
-- Returns  {now, {verdict, …}, {job, …}, ms until something falls due or -1, whether paused}
--          a verdict is ok or late; a job is {id, token, task, payload, attempts, lost, timeout ms,
--          queued ms, due ms, max attempts}
--          {'stale'} if the worker has already sent a later turn
-- Sent twice with one number, the second changes nothing and gets the same answer.
-- Runs when memory is full: it is how memory is freed.
-- Invariants: a job is in exactly one place; an outcome counts only under the token of the last
-- claim; a token is never given twice.
-- include shared/queue.lua
-- include shared/ending.lua
local worker, seq, want, lease = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local known, unknown_ms, settled = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local worker_key, held = base .. ':worker:' .. worker, base .. ':held:' .. worker
local BOUND = 100
local TAKEN = { 'token', 'task', 'payload', 'attempts', 'lost', 'timeout_ms', 'queued_ms',
  'due_ms', 'max_attempts' }

-- The earliest of what is scheduled and of the leases.
local function next_due()
  local soonest = -1
  for _, state in ipairs({ 'scheduled', 'active' }) do
    local first = redis.call('ZRANGE', place(state), 0, 0, 'WITHSCORES')
    if first[2] then
      local left = math.max(0, tonumber(first[2]) - now)
      if soonest < 0 or left < soonest then soonest = left end
    end
  end
  return soonest
end

local before = redis.call('HMGET', worker_key, 'seq', 'reply')
local last = tonumber(before[1])
if last and seq < last then return { 'stale' } end
if last and seq == last then
  local reply = cmsgpack.unpack(before[2])
  local jobs = {}
  for _, claim in ipairs(reply.claims) do
    local job = redis.call('HMGET', job_key(claim[1]), unpack(TAKEN))
    -- What has moved on since is not this worker's any longer.
    if tonumber(job[1]) == claim[2] and redis.call('ZSCORE', place('active'), claim[1]) then
      jobs[#jobs + 1] = { claim[1], unpack(job) }
    end
  end
  return { now, reply.verdicts, jobs, next_due(), reply.paused }
end

-- Settle.
local stored = 0
local function settle(id, token, kind, delay, text)
  local job = redis.call('HMGET', job_key(id), 'token', 'state', 'attempts', 'max_attempts',
    'priority', 'unique', 'keep_ms', 'claimed_ms', 'due_ms', 'payload', 'cancel')
  local state = job[2]
  if not state or tonumber(job[1]) ~= token then return 'late' end
  if state ~= 'active' then
    -- The lease ran out, but nobody has claimed the job since: what was done is done.
    if kind ~= 'done' or (state ~= 'ready' and state ~= 'scheduled') then return 'late' end
  end
  redis.call('ZREM', place(state), id)
  if kind == 'done' then
    local keep = tonumber(job[7]) or limits.keep_ms.done
    local ran = now - tonumber(job[8])
    count('done')
    count('~r' .. bucket(ran))
    free_unique(id, job[6])
    if keep <= 0 then
      redis.call('DEL', job_key(id), base .. ':log:' .. id, base .. ':once:' .. id)
    else
      local bytes = #job[10] + #text
      redis.call('ZADD', place('done'), now + keep, id)
      redis.call('HSET', job_key(id), 'state', 'done', 'result', text, 'ended_ms', now,
        'bytes', bytes)
      stored = stored + bytes
    end
  elseif kind == 'retry' then
    local attempts = tonumber(job[3]) + 1
    redis.call('HSET', job_key(id), 'attempts', attempts, 'error', text)
    count('failed')
    tell(id, 'failed', text)
    if attempts >= tonumber(job[4]) then
      put_dead(id, 'exhausted', text, job[6])
    elseif job[11] then
      put_cancelled(id, job[6])
    else
      put_scheduled(id, now + delay)
    end
  elseif kind == 'dead' then
    redis.call('HINCRBY', job_key(id), 'attempts', 1)
    count('failed')
    put_dead(id, 'refused', text, job[6])
  elseif kind == 'cancelled' or job[11] then
    put_cancelled(id, job[6])
  elseif kind == 'snooze' then
    put_scheduled(id, now + delay)
  else
    put_ready(id, tonumber(job[5]), tonumber(job[9]))
    tell(id, 'released', worker)
  end
  return 'ok'
end

local verdicts, gone = {}, {}
for i = 1, settled do
  local at = 7 + (i - 1) * 5
  local id = ARGV[at + 1]
  verdicts[i] = settle(id, tonumber(ARGV[at + 2]), ARGV[at + 3], tonumber(ARGV[at + 4]), ARGV[at + 5])
  gone[i] = id
  if verdicts[i] == 'late' then
    count('late')
    if redis.call('EXISTS', job_key(id)) == 1 then tell(id, 'late', worker) end
  end
end
if settled > 0 then
  redis.call('SREM', held, unpack(gone))
  if stored > 0 then redis.call('HINCRBY', meta, 'done_bytes', stored) end
end
trim('done', BOUND)
trim('dead', BOUND)

-- Bring back what was lost, and what is due.
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
for _, id in ipairs(redis.call('ZRANGEBYSCORE', place('scheduled'), '-inf', now, 'LIMIT', 0, BOUND)) do
  local job = redis.call('HMGET', job_key(id), 'priority', 'due_ms')
  if job[1] then
    redis.call('ZREM', place('scheduled'), id)
    put_ready(id, tonumber(job[1]), tonumber(job[2]))
  else
    drop(id, 'scheduled')
  end
end

-- Claim. `room` is what the queue allows; this worker takes no more than it wants.
local rules = redis.call('HMGET', meta, 'paused', 'concurrency', 'rate_count', 'rate_ms', 'tat',
  'token')
local paused = rules[1] and 1 or 0
local room = paused == 1 and 0 or math.huge
if rules[2] then
  room = math.min(room, tonumber(rules[2]) - redis.call('ZCARD', place('active')))
end
-- A leaky bucket in one number: the time at which it would be empty.
local interval, tat, rate_ms
if rules[3] then
  rate_ms = tonumber(rules[4])
  interval = rate_ms / tonumber(rules[3])
  tat = math.max(tonumber(rules[5]) or 0, now)
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
    -- One that knows it may sleep, and does not know when to look.
    wake()
  end
end

local jobs, claims, leases, ids = {}, {}, {}, {}
local most = math.min(want, room)
-- The clock in it keeps a token from being given twice where a failover forgot the last ones.
local token = math.max(tonumber(rules[6]) or 0, micros)
local looked = 0
while #ids < most and looked < BOUND do
  local popped = redis.call('ZPOPMIN', place('ready'), math.min(most - #ids, BOUND - looked))
  if #popped == 0 then break end
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
end
if #ids > 0 then
  redis.call('ZADD', place('active'), unpack(leases))
  redis.call('SADD', held, unpack(ids))
  redis.call('HSET', meta, 'token', token)
  if interval then
    tat = tat + #ids * interval
    redis.call('HSET', meta, 'tat', tat)
  end
end

local due = next_due()
if redis.call('ZCARD', place('ready')) > 0 then
  if #ids < want and looked >= BOUND then
    -- Others' jobs were in the way, and there is more behind them.
    due = 0
  elseif #ids < room and #ids >= want then
    -- What this worker has no hands for may be another's.
    wake()
  elseif interval and paused == 0 then
    local rate_wait = math.ceil(math.max(0, tat + interval - now - rate_ms))
    if rate_wait > 0 and (due < 0 or rate_wait < due) then due = rate_wait end
  end
end

write_counts()
redis.call('HSET', worker_key, 'seq', seq,
  'reply', cmsgpack.pack({ verdicts = verdicts, claims = claims, paused = paused }))
redis.call('PEXPIRE', worker_key, math.max(lease * 4, 60000))
return { now, verdicts, jobs, due, paused }
