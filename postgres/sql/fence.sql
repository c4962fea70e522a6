-- Raises a mark to a token, unless it has seen a larger one: then no row is
-- affected. The mark stays locked until the caller's transaction ends, so that
-- what it writes and what a later holder reads come one after the other.
--
--	$1 text    source
--	$2 text    key
--	$3 bigint  token
INSERT INTO {{table}} AS m (source, key, token) VALUES ($1, $2, $3)
ON CONFLICT (source, key) DO UPDATE SET token = excluded.token
WHERE m.token <= excluded.token
