-- Deletes a lock if its owner still has it, and wakes who waits for it.
--
-- KEYS[1]  the lock
-- KEYS[2]  the channel of its wake-ups, in the same slot
-- ARGV[1]  owner, 40 hexadecimal digits: the value begins with it
--
-- Reply: 1 if deleted, 0 if there was nothing of this owner's.
local held = redis.call('GET', KEYS[1])
if not held or string.sub(held, 1, 40) ~= ARGV[1] then
	return 0
end
redis.call('DEL', KEYS[1])
redis.pcall('PUBLISH', KEYS[2], '') -- a hint: who may not publish has released all the same
return 1
