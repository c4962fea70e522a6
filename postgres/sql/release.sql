-- Gives locks back and tells whoever waits for them, in this order: a
-- notification leaves with the commit.
--
--	$1 bigint[]  ids
--
-- One row for each: its id, and 1 if this connection had the lock. If not, the
-- connection is not what it seems.
SELECT id, pg_advisory_unlock(id)::int::bigint, pg_notify('distlock_' || to_hex(id), '')
FROM unnest($1::bigint[]) AS a (id)
