-- Ends the connection of a holder that was asked to let go of a key, and has not.
--
--	$1 bigint  id
--	$2 bigint  token
--
-- One row if it was there, true if it has ended within five seconds.
SELECT pg_terminate_backend(l.pid, 5000)
FROM {{table}} AS c JOIN pg_locks AS l ON l.pid = c.pid
WHERE c.id = $1 AND c.token = $2 AND c.broken
	AND l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
	AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
	AND (l.classid::bigint << 32 | l.objid::bigint) = c.id
