-- Ends an owner's lock on one node of several, for good: a repair that is under way does not bring it back.
--
-- KEYS[1]  the lock: "OWNER TOKEN HOLDER", or "broken"
-- KEYS[2]  the owner whose lock was ended last, until its lifetime would have been over
-- KEYS[3]  the channel of its wake-ups
-- ARGV[1]  owner, 40 hexadecimal digits
-- ARGV[2]  for how long nobody gets the key, milliseconds, may be 0. It is "broken" meanwhile, which no owner matches.
--
-- Reply: 1 if it was ended, now or by an earlier request; 0 if there is nothing of this owner's.
local held = redis.call('GET', KEYS[1])
if not held or string.sub(held, 1, 40) ~= ARGV[1] then
	return redis.call('GET', KEYS[2]) == ARGV[1] and 1 or 0
end
local rest = redis.call('PTTL', KEYS[1])
redis.call('SET', KEYS[2], ARGV[1], 'PX', rest > 0 and rest or 90000000) -- without expiry: more than any lifetime
if tonumber(ARGV[2]) > 0 then
	redis.call('SET', KEYS[1], 'broken', 'PX', ARGV[2])
else
	redis.call('DEL', KEYS[1])
	redis.pcall('PUBLISH', KEYS[3], '') -- a hint: who may not publish has freed it all the same
end
return 1
