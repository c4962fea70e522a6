-- Reads the last grant of a key.
--
--	$1 bigint  id
--
-- Its token, the holder's text, the server process that took it; whether that is asked
-- to let go; and whether a lock-delay has begun since.
SELECT token, holder, pid, broken, free_at IS NOT NULL FROM {{table}} WHERE id = $1
