-- Gives a lock back to one node of several that has lost it, with its token.
--
-- KEYS[1]  the lock: "OWNER TOKEN HOLDER"
-- KEYS[2]  the counter
-- KEYS[3]  since when the node has had its data, microseconds
-- KEYS[4]  the owner whose lock was ended by force, see revoke.lua
-- ARGV[1]  owner, 40 hexadecimal digits
-- ARGV[2]  holder's text, may be empty
-- ARGV[3]  lifetime from now, milliseconds
-- ARGV[4]  how long the counter outlives the larger of itself and the clock, milliseconds; 0: no counter
-- ARGV[5]  0, or else the age of the node's data matters to somebody
-- ARGV[6]  the token, 0 if there is no counter
--
-- Reply: 1 if the owner has the lock, 2 if another has or this owner's was ended.
local keep, token = tonumber(ARGV[4]), tonumber(ARGV[6])
local last = 0
if keep > 0 then
	last = counted(KEYS[2])
	if not last then
		return redis.error_reply('ERR distlock: the token counter is damaged or used up')
	end
end
local held = redis.call('GET', KEYS[1])
if tonumber(ARGV[5]) > 0 then
	young(KEYS[3], 0)
end
if held then
	return string.sub(held, 1, 40) == ARGV[1] and 1 or 2
end
if redis.call('GET', KEYS[4]) == ARGV[1] then
	return 2
end
if keep > 0 and last < token then
	count(KEYS[2], token, keep, micros())
end
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[6] .. ' ' .. ARGV[2], 'NX', 'PX', ARGV[3])
return 1
