-- Raises a mark to a token, unless it has seen a larger one or is of another
-- source: then no row is affected. The mark stays locked in any case until the
-- caller's transaction ends, so that what it writes and what a later holder reads
-- come one after the other.
--
--	$1 text    key
--	$2 text    source
--	$3 bigint  token
INSERT INTO {{table}} AS m (key, source, token) VALUES ($1, $2, $3)
ON CONFLICT (key) DO UPDATE SET token = excluded.token
WHERE m.source = excluded.source AND m.token <= excluded.token
