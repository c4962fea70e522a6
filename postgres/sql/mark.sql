-- Reads the mark that a token could not raise.
--
--	$1 text    key
SELECT source, token FROM {{table}} WHERE key = $1
