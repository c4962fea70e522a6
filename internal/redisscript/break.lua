-- Ends the grant of a lock that has a token, and wakes who waits for it or keeps the key from everybody for a while.
--
-- KEYS[1]  the lock: "OWNER TOKEN HOLDER", or "broken"
-- KEYS[2]  the channel of its wake-ups, in the same slot
-- ARGV[1]  the token
-- ARGV[2]  for how long nobody gets the key, milliseconds, may be 0. It is "broken" meanwhile, which no owner matches.
--
-- Reply: 1 if that grant had the key; 0 if another or none has; 2 if there is a string that is none of this library's.
--        An error that begins with WRONGTYPE if there is something else.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then
	return held
end
if not held or held == 'broken' then
	return 0
end
local owner, token = string.match(held, '^([0-9a-f]+) ([1-9]%d*) ')
if not owner or #owner ~= 40 then
	return 2
end
if token ~= ARGV[1] then
	return 0
end
if tonumber(ARGV[2]) > 0 then
	redis.call('SET', KEYS[1], 'broken', 'PX', ARGV[2])
else
	redis.call('DEL', KEYS[1])
	redis.pcall('PUBLISH', KEYS[2], '') -- a hint: who may not publish has freed it all the same
end
return 1
