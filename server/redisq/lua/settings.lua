#!lua flags=allow-oom
-- Changes how the queue works. It runs when memory is full, since it writes a few numbers at most.
-- KEYS[1]  the queue's base; [2] its meta hash
-- ARGV     names and values; '' takes a setting back to its default
-- Returns  1
-- include shared/queue.lua
for at = 1, #ARGV, 2 do
  if ARGV[at + 1] == '' then
    redis.call('HDEL', meta, ARGV[at])
  else
    redis.call('HSET', meta, ARGV[at], ARGV[at + 1])
  end
end
wake()
return 1
