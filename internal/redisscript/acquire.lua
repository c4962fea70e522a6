-- Takes a lock and mints its token, in one step.
--
-- KEYS[1]  the lock. Its value is "OWNER TOKEN HOLDER", fixed for the grant.
-- KEYS[2]  the counter: the last token of this lock, in decimal.
-- ARGV[1]  owner, 40 hexadecimal digits
-- ARGV[2]  holder's text, may be empty
-- ARGV[3]  lifetime of the grant, milliseconds
-- ARGV[4]  how long the counter outlives the larger of itself and the clock, milliseconds
--
-- Reply: the token, a string, if this owner has the lock now;
--        else what is left of the holder's lifetime in milliseconds, an integer, -1 for no end.
--
-- A request that arrives twice finds its own owner and answers as the first time. Whatever can fail is
-- checked before the first write. Numbers never pass through tostring, which rounds to 14 digits; sums stay
-- below 2^53, where doubles are exact.
local held = redis.call('GET', KEYS[1])
if held then
	if string.sub(held, 1, 40) == ARGV[1] then
		return string.match(held, '^%x+ (%d+)')
	end
	return redis.call('PTTL', KEYS[1])
end
local last = 0
local counter = redis.call('GET', KEYS[2])
if counter then
	last = string.match(counter, '^%d+$') and tonumber(counter)
	if not last or last >= 9007199254740991 then
		return redis.error_reply('ERR distlock: the token counter is damaged or used up')
	end
end
local time = redis.call('TIME')
local token = math.max(last + 1, time[1] * 1000000 + time[2])
local text = string.format('%.0f', token)
redis.call('SET', KEYS[2], text, 'PXAT', string.format('%.0f', math.floor(token / 1000) + ARGV[4]))
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. text .. ' ' .. ARGV[2], 'NX', 'PX', ARGV[3])
return text
