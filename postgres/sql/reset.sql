-- Makes a mark one of a source, below all its tokens.
--
--	$1 text    key
--	$2 text    source
INSERT INTO {{table}} (key, source, token) VALUES ($1, $2, 0)
ON CONFLICT (key) DO UPDATE SET source = excluded.source, token = 0
