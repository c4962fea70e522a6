-- Deletes a lock if it has a value, by the server's own command, and wakes who waits for it. By one command
-- less than release.lua, for servers that have one.
--
-- KEYS[1]  the lock
-- KEYS[2]  the channel of its wake-ups, in the same slot
-- ARGV[1]  the command
-- ARGV...  its arguments after the lock's name, the value among them
--
-- Reply: 1 if deleted, 0 if there was nothing of this value.
local deleted = redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))
if deleted == 1 then
	redis.pcall('PUBLISH', KEYS[2], '') -- a hint: who may not publish has released all the same
end
return deleted
