#!lua flags=allow-oom
-- What becomes of a series that is there.
-- KEYS[1]  the queue's base; [2] its meta hash
-- ARGV[1]  next: the answer to a turn's question. ARGV[2] name; [3] version and [4] after ms as in the
--          question; [5] the next time, ms. What is not the answer to the last question changes nothing.
--          end: there is no such series any longer. ARGV[2] name; [3] names the call: sent twice, it
--          gets the same answer. An occurrence that waits is forgotten; one that runs goes on.
-- Returns  next: ms until the first series is due, or -1; end: 1, or 0 if there was none
-- Invariant: a name is in `repeats` exactly if it has a hash.
-- include shared/queue.lua
-- include shared/ending.lua
-- include shared/repeats.lua
local what, name = ARGV[1], ARGV[2]
if what == 'end' then
  return answer_once(ARGV[3], function()
    if redis.call('DEL', series_key(name)) == 0 then return 0 end
    drop_waiting(name)
    redis.call('ZREM', place('repeats'), name)
    note_first_repeat()
    write_down()
    return 1
  end)
end
local series = redis.call('HMGET', series_key(name), 'version', 'asked_ms')
if series[1] == ARGV[3] and series[2] == ARGV[4] then
  redis.call('HDEL', series_key(name), 'asked_ms')
  set_next(name, tonumber(ARGV[5]))
  note_first_repeat()
  write_down()
end
return saved.repeats_ms and math.max(0, saved.repeats_ms - now) or -1
