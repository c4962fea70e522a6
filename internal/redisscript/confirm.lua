-- Writes a token back to one node of several, if its owner still has the lock there.
--
-- KEYS[1]  the lock: "OWNER TOKEN HOLDER"
-- KEYS[2]  the counter
-- ARGV[1]  owner, 40 hexadecimal digits
-- ARGV[2]  the token
-- ARGV[3]  how long the counter outlives the larger of itself and the clock, milliseconds
--
-- Reply: 1 if the counter is the token now and the lock has it; 0 if there is nothing of this owner's;
--        2 if the counter is larger. Nothing was done then.
local held = redis.call('GET', KEYS[1])
if not held or string.sub(held, 1, 40) ~= ARGV[1] then
	return 0
end
local last, token = counted(KEYS[2]), tonumber(ARGV[2])
if not last then
	return redis.error_reply('ERR distlock: the token counter is damaged or used up')
end
if last > token then
	return 2
end
count(KEYS[2], token, ARGV[3], micros())
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. string.match(held, '^%x+ %d+ (.*)$'), 'KEEPTTL')
return 1
