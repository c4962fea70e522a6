-- Notes that holders are about to give their keys up in good order, so that
-- whoever comes next waits for no lock-delay. It comes before the release. It
-- need not reach the disk: what a crash undoes costs a delay. The delay of who has
-- broken the lock stays.
--
--	$1 bigint[]  ids
WITH lazy AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS set)
UPDATE {{table}} AS c SET delay_ms = 0, free_at = NULL
FROM unnest($1::bigint[]) AS a (id), lazy
WHERE c.id = a.id AND lazy.set = 'off' AND NOT c.broken
