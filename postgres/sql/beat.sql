-- Restarts the server's idle time-out, tells which process answers, and 0 if somebody
-- rings for it: then its locks are to be looked at, see broken.sql.
--
--	$1 bigint  the bell of this connection: an advisory lock that nobody has
SELECT pg_backend_pid()::bigint, pg_try_advisory_xact_lock($1)::int::bigint
