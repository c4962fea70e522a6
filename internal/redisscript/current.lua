-- Tells the present grant of a lock. A script, since a plain read may be sent to a
-- replica.
--
-- KEYS[1]  the lock
--
-- Reply: its token, a string, or '0' if nobody has it, or something that is none
-- of this library's grants.
local held = redis.call('GET', KEYS[1])
return held and string.match(held, '^%x+ (%d+)') or '0'
