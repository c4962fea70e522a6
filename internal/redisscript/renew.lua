-- Extends a lock if its value is still the given one. For servers without SET … IFEQ.
--
-- KEYS[1]  the lock
-- ARGV[1]  the whole value
-- ARGV[2]  lifetime from now, milliseconds
--
-- Reply: 1 if extended, 0 if the value is another one or gone.
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
