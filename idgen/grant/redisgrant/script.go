package redisgrant

// The scripts. Each makes one write that matters, as Redis does not undo the writes of a script that fails. Numbers up to 2^63 are no numbers of Lua's,
// which have 53 bits: they are texts of 19 digits.

// less compares two texts of 19 digits. It does not compare them as texts, since Lua does that by the server's locale.
const less = `
local function less(a, b)
  local x, y = tonumber(string.sub(a, 1, 9)), tonumber(string.sub(b, 1, 9))
  return x < y or x == y and tonumber(string.sub(a, 10)) < tonumber(string.sub(b, 10))
end
`

// read has the space's own fields, or fails when some are missing. Where there is no hash it has none.
const read = less + `
local key = KEYS[1]
local have = redis.call('HMGET', key, 'id', 'layout', 'mark', 'made', 'absent', 'moved')
local id, layout, mark, made, absent, moved = unpack(have)
local rows = redis.call('HLEN', key) - 6
for _, value in ipairs({id, layout, mark, made, absent, moved}) do
  if not value and rows > -6 then
    return redis.error_reply('SNOWKEY fields of the space itself are missing in ' .. key)
  end
end
if id then
  made = tonumber(made)
end
`

// prepareScript takes a layout, an identity, the text of zero. It returns the layout in force. HSETNX of a field that is there changes nothing, and fails on a replica.
const prepareScript = read + `
if not id then
  redis.call('HSET', key, 'id', ARGV[2], 'layout', ARGV[1], 'mark', ARGV[3], 'made', 0, 'absent', ARGV[3], 'moved', '')
  return ARGV[1]
end
redis.call('HSETNX', key, 'id', id)
if made > rows then
  if less(absent, mark) then
    absent = mark
  end
  redis.call('HSET', key, 'absent', absent, 'made', rows)
end
return layout
`

// listScript takes a number, or nothing for all. It returns the time, the space's own fields, how many rows are gone, and the rows as fields and values.
const listScript = read + `
local time = redis.call('TIME')
if not id then
  return time
end
local found = {}
if ARGV[1] == '' then
  found = redis.call('HGETALL', key)
else
  local value = redis.call('HGET', key, ARGV[1])
  if value then
    found = {ARGV[1], value}
  end
end
return {time[1], time[2], id, mark, absent, math.max(0, made - rows), found}
`

// swapScript takes the number, the holder and until of the old row, the until, from and holder of the new one, the mark of the call, and the until
// that the space's mark has at least. It returns 1 when the change was made, also by an earlier run of the same call. WAIT waits for that one too: for all
// that the server had written when the last command of the connection ended.
const swapScript = read + `
local number, oldHolder, oldUntil, newUntil, newFrom, newHolder, call, reach = unpack(ARGV)
if not id then
  return 0
end
local row = redis.call('HGET', key, number)
if row and string.sub(row, 41, 66) == call then
  return 1
end
if oldHolder == '-' then
  if row then
    return 0
  end
  local held = absent
  if made > rows and less(held, mark) then
    held = mark
  end
  if less(newFrom, held) then
    return 0
  end
  made = made + 1
elseif not row or string.sub(row, 68) ~= oldHolder or string.sub(row, 1, 19) ~= oldUntil then
  return 0
end
if less(mark, reach) then
  mark = reach
end
redis.call('HSET', key, number, newUntil .. ' ' .. newFrom .. ' ' .. call .. ' ' .. newHolder, 'mark', mark, 'made', made)
return 1
`

// moveScript has the hashes and the lists of losses of two spaces, and takes the old layout, the new one, the greatest mark, the mark of the call, and
// the texts of zero and of Forever. It returns 1 when the space has moved, also by an earlier run of the same call.
const moveScript = read + `
local old, new, most, call, zero, forever = unpack(ARGV)
if not id then
  return 0
end
if moved == call then
  return 1
end
if layout ~= old or less(most, mark) or redis.call('EXISTS', KEYS[2]) == 1 then
  return 0
end
redis.call('RENAME', key, KEYS[2])
if redis.call('EXISTS', KEYS[3]) == 1 then
  redis.call('RENAME', KEYS[3], KEYS[4])
end
redis.call('HSET', KEYS[2], 'layout', new)
redis.call('HSET', key, 'id', id, 'layout', new, 'mark', zero, 'made', 0, 'absent', forever, 'moved', call)
return 1
`

// recordScript has the hash and the list of losses, and takes a loss with the mark of the call, and how many losses are kept.
const recordScript = `
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('LPOS', KEYS[2], ARGV[1]) then
  return 0
end
redis.call('LTRIM', KEYS[2], 1 - ARGV[2], -1)
redis.call('RPUSH', KEYS[2], ARGV[1])
return 1
`
