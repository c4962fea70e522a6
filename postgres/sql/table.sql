-- The counters of distlock's tokens, a row a key. Rows are not to be changed by
-- hand. That of a key that nobody uses any more may be deleted: should it be used
-- again, its tokens go on from the server's clock.
CREATE TABLE IF NOT EXISTS {{table}} (
	id         bigint PRIMARY KEY,          -- of the advisory lock: a hash of namespace and key
	namespace  text NOT NULL,
	key        text NOT NULL,
	token      bigint NOT NULL,             -- of the last grant
	holder     text NOT NULL DEFAULT '',    -- of the last grant, or the last that a lock-delay kept out
	granted_at timestamptz NOT NULL,        -- likewise
	delay_ms   bigint NOT NULL DEFAULT 0,   -- the lock-delay that is owed if the holder is lost; 0 after a release
	free_at    timestamptz,                 -- the end of a lock-delay that runs
	pid        bigint NOT NULL DEFAULT 0,   -- the server process that has taken the lock last
	broken     boolean NOT NULL DEFAULT false -- that it is asked to let go again
) WITH (fillfactor = 50);
