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
-- A request that arrives twice finds its own owner and answers as the first time. Each command in a script
-- costs the server as much as a small one by itself, so the usual case has three: each SET also tells what was
-- there, and what does not fit is put right behind it. The token is the clock, put together from TIME's words
-- without passing through a number, unless the counter is ahead of it; then sums stay below 2^53, where doubles
-- are exact, and are written by %.0f, as tostring rounds to 14 digits.
local time = redis.call('TIME')
local token = time[1] .. string.sub('00000' .. time[2], -6)
local held = redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. token .. ' ' .. ARGV[2], 'NX', 'GET', 'PX', ARGV[3])
if held then
	if string.sub(held, 1, 40) == ARGV[1] then
		return string.match(held, '^%x+ (%d+)')
	end
	return redis.call('PTTL', KEYS[1])
end
local counter = redis.pcall('SET', KEYS[2], token, 'GET', 'PX', ARGV[4])
if not counter then
	return token
end
local last = type(counter) == 'string' and tonumber(counter)
if not last or not (last >= 0 and last < 9007199254740991) then -- so that NaN fails, too
	redis.call('DEL', KEYS[1])
	if type(counter) == 'table' then
		return counter -- an error: it is no string
	end
	redis.call('SET', KEYS[2], counter)
	return redis.error_reply('ERR distlock: the token counter is damaged or used up')
end
if last >= tonumber(token) then
	token = string.format('%.0f', last + 1)
	redis.call('SET', KEYS[2], token, 'PXAT', string.format('%.0f', math.floor(last / 1000) + ARGV[4]))
	redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. token .. ' ' .. ARGV[2], 'PX', ARGV[3])
end
return token
