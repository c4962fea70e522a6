-- Tries the keys of one batch and mints the tokens of those that are free, in one
-- statement and one commit. The lock is taken first, row by row, so that only the
-- holder of a key ever touches its counter; a lock outlives the statement's own
-- failure, and then the caller closes the connection.
--
--	$1 bigint[]  ids
--	$2 text[]    keys
--	$3 text[]    what each holder calls itself
--	$4 bigint[]  lock-delays, in milliseconds
--	$5 text      namespace
--
-- One row for each lock that was taken: its id, its token, and how many
-- milliseconds of its last holder's lock-delay are left, or 0. If that is more
-- than 0 no token was minted, and the caller gives the lock back.
--
-- A counter that was lost goes on from the clock, in microseconds.
WITH asked AS MATERIALIZED (
	SELECT id, key, holder, delay, pg_try_advisory_lock(id) AS got, clock_timestamp() AS now
	FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS a (id, key, holder, delay)
)
INSERT INTO {{table}} AS c (id, namespace, key, token, holder, granted_at, delay_ms, pid)
SELECT id, $5::text, key, (extract(epoch FROM now) * 1000000)::bigint, holder, now, delay, pg_backend_pid() FROM asked WHERE got
ON CONFLICT (id) DO UPDATE SET
	free_at = CASE
		WHEN c.delay_ms = 0 OR c.free_at <= excluded.granted_at THEN NULL
		ELSE coalesce(c.free_at, excluded.granted_at + c.delay_ms * interval '1 ms') END,
	token = CASE
		WHEN c.delay_ms = 0 OR c.free_at <= excluded.granted_at THEN greatest(c.token + 1, excluded.token)
		ELSE c.token END,
	delay_ms = CASE
		WHEN c.delay_ms = 0 OR c.free_at <= excluded.granted_at THEN excluded.delay_ms
		ELSE c.delay_ms END,
	namespace = excluded.namespace, key = excluded.key,
	holder = excluded.holder, granted_at = excluded.granted_at,
	pid = excluded.pid, broken = false
RETURNING c.id, c.token,
	CASE WHEN c.free_at IS NULL THEN 0
		ELSE greatest(1, ceil(extract(epoch FROM c.free_at - clock_timestamp()) * 1000)::bigint) END
