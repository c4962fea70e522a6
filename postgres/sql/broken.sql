-- Finds the locks of this connection that are to be let go of.
--
--	$1 bigint[]  ids
--
-- One row for each: its id, and the token of the grant that is meant.
SELECT c.id, c.token
FROM unnest($1::bigint[]) WITH ORDINALITY AS a (id, n) JOIN {{table}} AS c USING (id)
WHERE c.broken AND c.pid = pg_backend_pid() ORDER BY a.n
