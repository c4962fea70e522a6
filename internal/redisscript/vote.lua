-- Takes a lock on one node of several, and counts its token if there is a counter, in one step.
--
-- KEYS[1]  the lock. Its value is "OWNER TOKEN HOLDER"; TOKEN is 0 until confirmed.
-- KEYS[2]  the counter
-- KEYS[3]  since when the node has had its data, microseconds. One for all locks.
-- ARGV[1]  owner, 40 hexadecimal digits
-- ARGV[2]  holder's text, may be empty
-- ARGV[3]  lifetime of the grant, milliseconds
-- ARGV[4]  how long the counter outlives the larger of itself and the clock, milliseconds; 0: no counter
-- ARGV[5]  how old the node's data must be, milliseconds; 0: any age
--
-- Reply: {0, COUNTER}         this owner has the lock now
--        {1, COUNTER, TOKEN}  it had it before; TOKEN is 0 if not confirmed
--        {2, REST, OTHER}     another has it: milliseconds left, -1 for no end; owner
--        {3, REST}            the data is too young, for as many milliseconds
--
-- Whatever can fail is checked before the first write.
local keep, delay = tonumber(ARGV[4]), tonumber(ARGV[5])
local last = 0
if keep > 0 then
	last = counted(KEYS[2])
	if not last then
		return redis.error_reply('ERR distlock: the token counter is damaged or used up')
	end
end
local held = redis.call('GET', KEYS[1])
if delay > 0 then
	local rest = young(KEYS[3], delay)
	if rest > 0 then
		return {3, rest}
	end
end
if held then
	local owner = string.sub(held, 1, 40)
	if owner == ARGV[1] then
		return {1, string.format('%.0f', last), string.match(held, '^%x+ (%d+)')}
	end
	return {2, redis.call('PTTL', KEYS[1]), owner}
end
local text = '0'
if keep > 0 then
	local now = micros()
	text = count(KEYS[2], math.max(last + 1, now), keep, now)
end
redis.call('SET', KEYS[1], ARGV[1] .. ' 0 ' .. ARGV[2], 'NX', 'PX', ARGV[3])
return {0, text}
