#!lua
-- Takes jobs, all of them or none.
-- KEYS[1]  the queue's base; [2] its meta hash
-- ARGV[1]  most jobs that may wait (ready and scheduled together)
-- ARGV[2]  how many jobs follow; ten values each:
--          id, task, payload, delay ms, due ms ('' to use the delay), priority, max attempts,
--          time-out ms, keep ms ('' for the queue's), unique key ('' for none)
-- Returns {'full', waiting} and changes nothing, or {'ok', {id, …}}: the job's own id, or the id of
-- the job that was there before it with the same id or unique key. So, sent twice, it changes nothing
-- the second time, unless the job has ended and been forgotten in between.
-- What is due at once is taken in the order in which it was sent.
-- Refused by the server when memory is full, before anything is written.
-- Invariant: an id has a hash exactly if it is in one of the five places.
-- include shared/queue.lua
local most, many = tonumber(ARGV[1]), tonumber(ARGV[2])
local waiting = redis.call('ZCARD', place('ready')) + redis.call('ZCARD', place('scheduled'))
local boost = tonumber(redis.call('HGET', meta, 'boost_ms')) or 60000
local WIDTH = 10

local ids, fresh, order, unique_here = {}, {}, {}, {}
for i = 1, many do
  local at = 2 + (i - 1) * WIDTH
  local id, unique = ARGV[at + 1], ARGV[at + 10]
  local there = redis.call('EXISTS', job_key(id)) == 1 or fresh[id]
  if not there and unique ~= '' then
    local before = unique_here[unique] or redis.call('GET', base .. ':unique:' .. unique)
    if before then
      id, there = before, true
    else
      unique_here[unique] = id
    end
  end
  ids[i] = id
  if not there then
    fresh[id] = true
    order[#order + 1] = at
  end
end

local added = #order
if added > 0 and waiting + added > most then return { 'full', waiting } end

local due_now = false
local waits = { ready = {}, scheduled = {} }
for nth, at in ipairs(order) do
  local id, delay = ARGV[at + 1], tonumber(ARGV[at + 4])
  -- A microsecond apart, and a job takes longer than that to write: so the next call's come after.
  local due = tonumber(ARGV[at + 5]) or (micros + nth) / 1000 + delay
  local priority, unique = tonumber(ARGV[at + 6]), ARGV[at + 10]
  local state = (due <= now or ARGV[at + 5] == '' and delay == 0) and 'ready' or 'scheduled'
  write_new(id, state, due, ARGV[at + 2], ARGV[at + 3], priority, ARGV[at + 7], ARGV[at + 8],
    ARGV[at + 9], unique)
  local set = waits[state]
  set[#set + 1] = state == 'ready' and ready_score(due, priority, boost) or due
  set[#set + 1] = id
end
if #waits.ready > 0 then
  redis.call('ZADD', place('ready'), unpack(waits.ready))
  due_now = true
end
if #waits.scheduled > 0 then
  redis.call('ZADD', place('scheduled'), unpack(waits.scheduled))
  -- A worker that sleeps must learn that something falls due before it would have looked.
  if fresh[redis.call('ZRANGE', place('scheduled'), 0, 0)[1]] then due_now = true end
end
if added > 0 then redis.call('HINCRBY', meta, 'total_enqueued', added) end
if due_now then wake() end
return { 'ok', ids }
