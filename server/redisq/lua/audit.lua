#!lua flags=no-writes
-- Looks at jobs and their places.
-- KEYS[1]  the queue's base; [2] its meta hash
-- ARGV     ids
-- Returns  {id, what is wrong} for each that is not sound: no-job (it has a place and no hash),
--          no-place, two-places, wrong-place (not that of its state), unheld (active, but not held by
--          its worker), unique-free (waits or runs, but its key is not its own), unique-kept (has
--          ended, and still has its key)
-- include shared/queue.lua
local wrong = {}
for _, id in ipairs(ARGV) do
  local job = redis.call('HMGET', job_key(id), 'state', 'worker', 'unique')
  local found = {}
  for _, state in ipairs({ 'ready', 'scheduled', 'active', 'done', 'dead' }) do
    if redis.call('ZSCORE', place(state), id) then found[#found + 1] = state end
  end
  local fault
  if #found > 1 then
    fault = 'two-places'
  elseif not job[1] then
    -- Neither: deleted since it was listed.
    if #found == 1 then fault = 'no-job' end
  elseif #found == 0 then
    fault = 'no-place'
  elseif found[1] ~= job[1] then
    fault = 'wrong-place'
  elseif job[1] == 'active' and redis.call('SISMEMBER', base .. ':held:' .. (job[2] or ''), id) == 0 then
    fault = 'unheld'
  elseif job[3] and job[3] ~= '' then
    local own = redis.call('GET', base .. ':unique:' .. job[3]) == id
    local ended = job[1] == 'done' or job[1] == 'dead'
    if own and ended then fault = 'unique-kept' elseif not own and not ended then fault = 'unique-free' end
  end
  if fault then wrong[#wrong + 1] = { id, fault } end
end
return wrong
