#!lua flags=allow-oom
-- What an operator does to jobs, one by one.
-- KEYS[1]  the queue's base; [2] its meta hash
-- ARGV[1]  retry (done or dead jobs wait again, with all their attempts), promote (scheduled jobs are
--          due now), cancel (waiting jobs become dead; a running one is told by the next heartbeat),
--          delete (of any that does not run)
-- ARGV[2]  names the call: sent twice, it changes nothing the second time and gets the same answer
-- ARGV[3…] ids
-- Returns  for each id: ok, asked (cancel of a running job), missing, taken (its unique key belongs to
--          another job now), or the state that does not allow it
-- Invariant: a job is in exactly one place.
-- include shared/queue.lua
-- include shared/ending.lua
local what = ARGV[1]

local function operate(id)
  local job = redis.call('HMGET', job_key(id), 'state', 'priority', 'unique')
  local state, priority, unique = job[1], tonumber(job[2]), job[3]
  if not state then return 'missing' end
  if what == 'retry' then
    if state ~= 'done' and state ~= 'dead' then return state end
    if unique ~= '' then
      local key = base .. ':unique:' .. unique
      local other = redis.call('GET', key)
      if other and other ~= id then return 'taken' end
      redis.call('SET', key, id)
    end
    if state == 'done' then
      keep_bytes(-(tonumber(redis.call('HGET', job_key(id), 'bytes')) or 0))
    end
    redis.call('ZREM', place(state), id)
    redis.call('HSET', job_key(id), 'attempts', 0, 'lost', 0)
    redis.call('HDEL', job_key(id), 'reason', 'error', 'result', 'bytes', 'ended_ms', 'cancel',
      'unknown_since')
    put_ready(id, priority, now)
    wake()
  elseif what == 'promote' then
    if state ~= 'scheduled' then return state end
    redis.call('ZREM', place(state), id)
    put_ready(id, priority, now)
    wake()
  elseif what == 'cancel' then
    if state == 'active' then
      redis.call('HSET', job_key(id), 'cancel', 1)
      return 'asked'
    end
    if state ~= 'ready' and state ~= 'scheduled' then return state end
    redis.call('ZREM', place(state), id)
    put_dead(id, 'cancelled', 'cancelled before it ran', unique)
  elseif what == 'delete' then
    if state == 'active' then return state end
    forget(state, { id })
    return 'ok'
  end
  tell(id, what, '')
  return 'ok'
end

return answer_once(ARGV[2], function()
  local answers = {}
  for at = 3, #ARGV do answers[at - 2] = operate(ARGV[at]) end
  write_down()
  return answers
end)
