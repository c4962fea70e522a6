--: schema
CREATE TABLE IF NOT EXISTS {table} (
	lock_key text COLLATE "C" PRIMARY KEY,
	source   text COLLATE "C" NOT NULL,
	token    bigint NOT NULL CHECK (token >= 0)
)

--: raise
-- Arguments: key, source, token. One row affected: the token passes, and the row is locked until the
-- transaction ends. None: it does not, and the row is locked all the same.
-- An equal token writes the row too. That makes it fail in a transaction whose snapshot is older than the
-- last check of somebody else, where a mere lock would let it go on with what it has read.
INSERT INTO {table} AS mark (lock_key, source, token) VALUES ($1, $2, $3)
ON CONFLICT (lock_key) DO UPDATE SET token = excluded.token
WHERE mark.source = excluded.source AND mark.token <= excluded.token

--: read
-- Argument: key.
SELECT source, token FROM {table} WHERE lock_key = $1

--: reset
-- Arguments: key, source.
INSERT INTO {table} (lock_key, source, token) VALUES ($1, $2, 0)
ON CONFLICT (lock_key) DO UPDATE SET source = excluded.source, token = 0

--: resetall
-- Argument: source.
UPDATE {table} SET source = $1, token = 0
