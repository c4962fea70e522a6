-- Extends a lock if its owner still has it. For servers without SET … IFEQ.
--
-- KEYS[1]  the lock
-- ARGV[1]  owner, 40 hexadecimal digits: the value begins with it
-- ARGV[2]  lifetime from now, milliseconds
--
-- Reply: 1 if extended, 0 if there is nothing of this owner's.
local held = redis.call('GET', KEYS[1])
if held and string.sub(held, 1, 40) == ARGV[1] then
	return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
