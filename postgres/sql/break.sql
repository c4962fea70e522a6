-- Asks the holder of a key to let go of it, if it has it by this grant, and notes the
-- lock-delay that is owed then.
--
--	$1 bigint  id
--	$2 bigint  token
--	$3 bigint  the holder's server process
--	$4 bigint  lock-delay, in milliseconds
--
-- One row if it did.
UPDATE {{table}} SET broken = true, delay_ms = $4, free_at = NULL
WHERE id = $1 AND token = $2 AND pid = $3 RETURNING id
