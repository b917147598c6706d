#!lua flags=no-writes
-- Looks at a whole queue, for people. What it costs does not depend on how many jobs there are.
-- KEYS[1]  the queue's base; [2] its meta hash
-- ARGV[1]  of how many minutes the counters are wanted; [2] most workers, those heard of latest
-- Returns  {now, {name, value, … of meta}, {jobs in each of the five places}, due ms of the job at the
--          head of the line or '', due ms of the next scheduled one or '', leases that have run out,
--          {{counter, value, …}, …} (the newest minute first), {{worker, beat ms, about or '', jobs that
--          it holds}, …}}
-- include shared/queue.lua
local minutes, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local counts = {}
for i, state in ipairs({ 'ready', 'scheduled', 'active', 'done', 'dead' }) do
  counts[i] = redis.call('ZCARD', place(state))
end
local head = redis.call('ZRANGE', place('ready'), 0, 0)[1]
local due = head and redis.call('HGET', job_key(head), 'due_ms') or ''
local soonest = redis.call('ZRANGE', place('scheduled'), 0, 0, 'WITHSCORES')[2] or ''
local overdue = redis.call('ZCOUNT', place('active'), '-inf', now)

local counted, newest = {}, math.floor(now / 60000)
for back = 0, minutes - 1 do
  counted[back + 1] = redis.call('HGETALL', base .. ':minute:' .. (newest - back))
end

local workers = {}
local beats = redis.call('ZREVRANGE', base .. ':workers', 0, most - 1, 'WITHSCORES')
for i = 1, #beats, 2 do
  local id = beats[i]
  workers[#workers + 1] = { id, beats[i + 1],
    redis.call('HGET', base .. ':worker:' .. id, 'about') or '',
    redis.call('SCARD', base .. ':held:' .. id) }
end
return { now, redis.call('HGETALL', meta), counts, due, soonest, overdue, counted, workers }
