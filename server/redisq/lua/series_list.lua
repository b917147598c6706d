#!lua flags=no-writes
-- Lists all series; there are a thousand at most.
-- KEYS[1]  the queue's base; [2] its meta hash
-- Returns  {name, when it is due next, its hash as names and values} for each, by that time
-- include shared/queue.lua
local due, answer = redis.call('ZRANGE', place('repeats'), 0, -1, 'WITHSCORES'), {}
for i = 1, #due, 2 do
  local fields = redis.call('HGETALL', base .. ':repeat:' .. due[i])
  if #fields > 0 then answer[#answer + 1] = { due[i], due[i + 1], fields } end
end
return answer
