-- Looks at a lock. A script, since plain reads are more than one step and may be sent to a replica.
--
-- KEYS[1]  the lock
-- KEYS[2]  the channel of its wake-ups, in the same slot
-- ARGV[1]  1 if subscribers of the channel are to be counted: all of them are this server's
--
-- Reply: {VALUE, REST, SUBSCRIBERS}. VALUE is nil if there is no lock; REST is what is left of its lifetime in
--        milliseconds, -1 for no end; SUBSCRIBERS is -1 where they were not counted or may not be.
--        An error that begins with WRONGTYPE if there is something else than a string.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then
	return held
end
local subscribers = -1
if ARGV[1] == '1' then
	local answer = redis.pcall('PUBSUB', 'NUMSUB', KEYS[2])
	subscribers = answer[2] or -1
end
return {held, held and redis.call('PTTL', KEYS[1]) or 0, subscribers}
