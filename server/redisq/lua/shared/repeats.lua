-- Jobs that come again and again. Needs shared/ending.lua.
-- A series is the hash repeat:NAME; the sorted set `repeats` has its name at the time of the next
-- occurrence, and the first of these times is meta's repeats_ms, so that turns have nothing to look up.
-- An occurrence is a job like any other, and has the unique key repeat:NAME: so at most one of a
-- series waits or runs, and what falls due meanwhile is skipped.
-- The next time after an interval is reckoned here. That of a cron line is not: the turn asks its worker
-- for it, by `asked_ms`, and asks another one if none answers. So a series is in nobody's hands.
local ASK_AGAIN_MS = 5000

local function series_key(name) return base .. ':repeat:' .. name end

local function set_next(name, at) redis.call('ZADD', place('repeats'), at, name) end

local function note_first_repeat()
  local first = tonumber(redis.call('ZRANGE', place('repeats'), 0, 0, 'WITHSCORES')[2])
  mark('repeats_ms', first or '')
  saved.repeats_ms = first
end

-- Forgets the occurrence that waits, if there is one, and tells whether there was.
local function drop_waiting(name)
  local id = redis.call('GET', base .. ':unique:repeat:' .. name)
  local state = id and redis.call('HGET', job_key(id), 'state')
  if state ~= 'ready' and state ~= 'scheduled' then return false end
  forget(state, { id })
  return true
end

local function occur(name, at, series)
  local id, unique = name .. ':' .. string.format('%.0f', at), 'repeat:' .. name
  if redis.call('EXISTS', base .. ':unique:' .. unique, job_key(id)) > 0 then
    redis.call('HINCRBY', series_key(name), 'skipped', 1)
    return
  end
  local priority = tonumber(series[3])
  write_new(id, 'ready', at, series[1], series[2], priority, series[4], series[5], series[6], unique)
  redis.call('ZADD', place('ready'), ready_score(at, priority, limits.boost), id)
  redis.call('HINCRBY', meta, 'total_enqueued', 1)
  redis.call('HINCRBY', series_key(name), 'occurred', 1)
  redis.call('HSET', series_key(name), 'last_ms', at, 'last_id', id)
end

-- Lets what is due occur, up to a bound, and returns what must be asked.
local function repeat_due(most)
  local questions = {}
  local due = redis.call('ZRANGEBYSCORE', place('repeats'), '-inf', now, 'WITHSCORES',
    'LIMIT', 0, most)
  for i = 1, #due, 2 do
    local name, at = due[i], tonumber(due[i + 1])
    local series = redis.call('HMGET', series_key(name), 'task', 'payload', 'priority',
      'max_attempts', 'timeout_ms', 'keep_ms', 'every_ms', 'cron', 'zone', 'version', 'asked_ms')
    local every, asked = tonumber(series[7]), tonumber(series[11])
    if not series[1] then
      redis.call('ZREM', place('repeats'), name)
    else
      if not asked then occur(name, at, series) end
      if every then
        set_next(name, at + every * (math.floor((now - at) / every) + 1))
      else
        if not asked then
          asked = now
          redis.call('HSET', series_key(name), 'asked_ms', now)
        end
        set_next(name, now + ASK_AGAIN_MS)
        questions[#questions + 1] = { name, tonumber(series[10]), series[8], series[9], asked }
      end
    end
  end
  note_first_repeat()
  return questions
end
