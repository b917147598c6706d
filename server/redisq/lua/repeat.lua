#!lua
-- Defines a series of jobs, or changes it.
-- KEYS[1]  the queue's base; [2] its meta hash
-- ARGV[1]  most series that a queue may have; [2] the series' name
-- ARGV[3]  task; [4] payload; [5] priority; [6] max attempts; [7] time-out ms; [8] keep ms ('' for the
--          queue's)
-- ARGV[9]  ms from one occurrence to the next; or '', and [10] cron, [11] zone, [12] the first time
-- Returns  {'same'} and changes nothing if the series is like that already; {'full', how many there
--          are}; or {'ok'}. An occurrence of the former definition that waits is replaced by one of
--          the new; one that runs goes on.
-- Refused by the server when memory is full, before anything is written.
-- Invariant: a name is in `repeats` exactly if it has a hash.
-- include shared/queue.lua
-- include shared/ending.lua
-- include shared/repeats.lua
local NAMES = { 'task', 'payload', 'priority', 'max_attempts', 'timeout_ms', 'keep_ms', 'every_ms',
  'cron', 'zone' }
local name, key = ARGV[2], series_key(ARGV[2])
local before = redis.call('HMGET', key, unpack(NAMES))
local same, fields = true, {}
for i, field in ipairs(NAMES) do
  same = same and before[i] == ARGV[i + 2]
  fields[#fields + 1] = field
  fields[#fields + 1] = ARGV[i + 2]
end
if same then return { 'same' } end
local many = redis.call('ZCARD', place('repeats'))
if not before[1] and many >= tonumber(ARGV[1]) then return { 'full', many } end

local at = tonumber(ARGV[12]) or now + tonumber(ARGV[9])
if drop_waiting(name) then at = now end
-- By its version, an answer about a former definition is known as one.
fields[#fields + 1] = 'version'
fields[#fields + 1] = redis.call('HINCRBY', meta, 'repeat_version', 1)
redis.call('HSET', key, unpack(fields))
redis.call('HDEL', key, 'asked_ms')
set_next(name, at)
note_first_repeat()
write_down()
wake()
return { 'ok' }
