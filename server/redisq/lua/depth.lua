#!lua flags=no-writes
-- Counts what is where, without looking at any job but the next.
-- KEYS[1]  the queue's base; [2] its meta hash
-- Returns  {how many are ready, scheduled, active, done, dead; for how many ms the next one has been
--          due, or -1 if none is ready; whether paused}
-- include shared/queue.lua
local answer = {}
for i, state in ipairs({ 'ready', 'scheduled', 'active', 'done', 'dead' }) do
  answer[i] = redis.call('ZCARD', place(state))
end
local id = redis.call('ZRANGE', place('ready'), 0, 0)[1]
local due = id and tonumber(redis.call('HGET', job_key(id), 'due_ms'))
answer[6] = due and math.max(0, now - due) or -1
answer[7] = redis.call('HEXISTS', meta, 'paused')
return answer
