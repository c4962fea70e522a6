-- Refuses a token smaller than the mark of a resource, else raises the mark,
-- and then runs what follows this text in the same step.
--
-- KEYS[1]  the mark: "SOURCE TOKEN", without expiry
-- ARGV[1]  the lock source's name
-- ARGV[2]  the token, decimal digits without leading zero
--
-- What follows sees the other keys and arguments as KEYS and ARGV, counted from 1.
--
-- Error replies: FENCESTALE with the mark's token, if the token is smaller;
--                FENCEMARK with the mark, if it is another source's or damaged.
-- The mark stays raised if what follows fails.
--
-- Tokens are compared as text, since Lua's numbers are exact only to 2^53: the
-- longer one is larger, of two with one length the one that sorts later. It is
-- done here by length and digits; the order of < on strings may follow a locale.
do
	local function smaller(a, b)
		if #a ~= #b then
			return #a < #b
		end
		for i = 1, #a do
			local x, y = string.byte(a, i), string.byte(b, i)
			if x ~= y then
				return x < y
			end
		end
		return false
	end
	local source, token = ARGV[1], ARGV[2]
	local mark = redis.call('GET', KEYS[1])
	local of, last = source, '0'
	if mark then
		of, last = string.match(mark, '^(.*) ([1-9]%d*)$')
	end
	if of ~= source then
		return redis.error_reply('FENCEMARK ' .. mark)
	end
	if smaller(token, last) then
		return redis.error_reply('FENCESTALE ' .. last)
	end
	if token ~= last then
		redis.call('SET', KEYS[1], source .. ' ' .. token)
	end
	table.remove(KEYS, 1)
	table.remove(ARGV, 1)
	table.remove(ARGV, 1)
end
