#!lua flags=no-writes
-- Looks at series and their times.
-- KEYS[1]  the queue's base; [2] its meta hash
-- ARGV     names
-- Returns  {name, what is wrong} for each that is not sound: no-series (it has a time and no hash),
--          no-time, overslept (its time comes before that which turns look for)
-- include shared/queue.lua
local wrong = {}
local first = tonumber(redis.call('HGET', meta, 'repeats_ms')) or math.huge
for _, name in ipairs(ARGV) do
  local at = tonumber(redis.call('ZSCORE', place('repeats'), name))
  local there = redis.call('EXISTS', base .. ':repeat:' .. name) == 1
  local fault
  if at and not there then
    fault = 'no-series'
  elseif there and not at then
    fault = 'no-time'
  elseif at and at < first then
    fault = 'overslept'
  end
  if fault then wrong[#wrong + 1] = { name, fault } end
end
return wrong
