-- Finds who has the advisory lock of a key, in one look at all locks.
--
--	$1 bigint  id
--	$2 text    schema of the table of counters
--	$3 text    the table
--
-- No row if nobody has. Else: the server process; the transaction that it is in, which
-- ends with /0 if it is in none; and whether that has locked the table for writing.
WITH l AS MATERIALIZED (
	SELECT * FROM pg_locks
	WHERE granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
SELECT h.pid, h.virtualtransaction, EXISTS (
	SELECT FROM l AS w JOIN pg_class c ON c.oid = w.relation JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE w.pid = h.pid AND w.mode = 'RowExclusiveLock' AND n.nspname = $2 AND c.relname = $3)
FROM l AS h
WHERE h.locktype = 'advisory' AND h.objsubid = 1 AND (h.classid::bigint << 32 | h.objid::bigint) = $1
LIMIT 1
