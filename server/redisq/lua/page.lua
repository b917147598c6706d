#!lua flags=no-writes
-- Looks at some jobs of one state, for people.
-- KEYS[1]  the queue's base; [2] its meta hash
-- ARGV[1]  the state: what waits or runs comes in its order, what has ended the other way round
-- ARGV[2]  score and [3] id of the job after which to begin, both '' for the first
-- ARGV[4]  how many
-- ARGV[5…] names of the fields that are wanted
-- Returns  {{{id, score, value or '', …}, …}, whether there are more}
-- If the job after which to begin has gone, it begins after those that stood before where it was: what
-- had the same score may come again, and nothing is left out.
-- include shared/queue.lua
local state, at, after, many = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local set = place(state)
local backwards = state == 'done' or state == 'dead'
local start = 0
if after ~= '' then
  local score = redis.call('ZSCORE', set, after)
  if score and tonumber(score) == tonumber(at) then
    start = redis.call(backwards and 'ZREVRANK' or 'ZRANK', set, after) + 1
  elseif backwards then
    start = redis.call('ZCOUNT', set, '(' .. at, '+inf')
  else
    start = redis.call('ZCOUNT', set, '-inf', '(' .. at)
  end
end
local found = redis.call(backwards and 'ZREVRANGE' or 'ZRANGE', set, start, start + many,
  'WITHSCORES')
local rows = {}
for i = 1, math.min(#found, 2 * many), 2 do
  local row = { found[i], found[i + 1] }
  local values = redis.call('HMGET', job_key(found[i]), unpack(ARGV, 5))
  for nth = 1, #ARGV - 4 do row[nth + 2] = values[nth] or '' end
  rows[#rows + 1] = row
end
return { rows, #found > 2 * many and 1 or 0 }
