#!lua flags=no-writes
-- Lists what has a hash, some at a time.
-- KEYS[1]  the queue's base; [2] its meta hash
-- ARGV[1]  where to go on, 0 at first; [2] about how many keys to look at; [3] the base, then :*, as a
--          pattern
-- Returns  {where to go on, or 0 at the end; {id of a job, …}, {name of a series, …}}
-- A script, so that in a cluster it runs on the node that has the queue.
-- include shared/queue.lua
local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[3], 'COUNT', ARGV[2])
local names = { ['job:'] = {}, ['repeat:'] = {} }
for _, key in ipairs(page[2]) do
  for start, found in pairs(names) do
    local rest = #base + 2
    if string.sub(key, rest, rest + #start - 1) == start then
      found[#found + 1] = string.sub(key, rest + #start)
    end
  end
end
return { page[1], names['job:'], names['repeat:'] }
