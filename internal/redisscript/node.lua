-- What the scripts of one node of several share. It stands before them.

-- Microseconds of the server's clock.
local function micros()
	local t = redis.call('TIME')
	return t[1] * 1000000 + t[2]
end

-- The value of a token counter, 0 if there is none, nil if it is damaged or used up.
local function counted(key)
	local text = redis.call('GET', key)
	if not text then
		return 0
	end
	local last = string.match(text, '^%d+$') and tonumber(text)
	return last and last < 9007199254740991 and last or nil
end

-- Sets a counter, which outlives the larger of itself and now by keep milliseconds.
local function count(key, token, keep, now)
	local text = string.format('%.0f', token)
	redis.call('SET', key, text, 'PXAT', string.format('%.0f', math.floor(math.max(token, now) / 1000) + keep))
	return text
end

-- For how many milliseconds since the node's data began it is younger than delay. The key says when that
-- was; it has no expiry, so that it is missing only where data was lost. A time to come is not believed.
local function young(key, delay)
	local now = micros()
	local since = tonumber(redis.call('GET', key) or nil)
	if not since or since > now then
		redis.call('SET', key, string.format('%.0f', now))
		since = now
	end
	return math.ceil(delay - (now - since) / 1000)
end
