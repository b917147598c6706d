#!lua flags=allow-oom
-- Forgets jobs by what they are, some at a time.
-- KEYS[1]  the queue's base; [2] its meta hash
-- ARGV[1]  names the call: sent twice, it gets the same answer
-- ARGV[2]  ready, scheduled, done or dead; [3] where to go on, 0 at first; [4] about how many to look at
-- ARGV[5]  their task, [6] the reason for which they are dead, [7] how long ago at least they ended, or
--          were enqueued if they have not ended, in ms; '' for any
-- Returns  {where to go on, or 0 at the end; how many were looked at; how many are gone}
-- What is there from the first call to the last is looked at, what comes meanwhile may be.
-- Invariant: a job is in exactly one place.
-- include shared/queue.lua
-- include shared/ending.lua
local state, task, reason, age = ARGV[2], ARGV[5], ARGV[6], tonumber(ARGV[7])
local since = (state == 'done' or state == 'dead') and 'ended_ms' or 'queued_ms'
local AT_ONCE = 500

local function is_meant(id)
  local job = redis.call('HMGET', job_key(id), 'task', 'reason', since)
  return (task == '' or job[1] == task) and (reason == '' or job[2] == reason)
    and (not age or job[3] and now - tonumber(job[3]) >= age)
end

return answer_once(ARGV[1], function()
  local page = redis.call('ZSCAN', place(state), ARGV[3], 'COUNT', ARGV[4])
  local ids, gone, looked = {}, 0, 0
  for i = 1, #page[2], 2 do
    looked = looked + 1
    if is_meant(page[2][i]) then
      ids[#ids + 1] = page[2][i]
      gone = gone + 1
    end
    if #ids == AT_ONCE then
      forget(state, ids)
      ids = {}
    end
  end
  forget(state, ids)
  write_down()
  return { page[1], looked, gone }
end)
