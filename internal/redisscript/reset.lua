-- Puts a new mark in the place of the one that the caller knows, and of no other; or tells which there is.
--
-- KEYS[1]  the mark: "SOURCE TOKEN", without expiry
-- ARGV[1]  the new mark; left out: nothing is put
-- ARGV[2]  the mark that is there, as far as the caller knows; left out: none
--
-- Reply: 1 if the new mark is there now; else the mark that is there instead, WRONGTYPE where it is no string,
--        or 0 if there is none.
local mark = redis.pcall('GET', KEYS[1])
if type(mark) == 'table' then
	mark = 'WRONGTYPE' -- as no mark is, so that the next call can name it
end
if not ARGV[1] or mark ~= (ARGV[2] or false) then
	return mark or 0
end
redis.call('SET', KEYS[1], ARGV[1])
return 1
