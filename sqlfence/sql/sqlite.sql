--: schema
CREATE TABLE IF NOT EXISTS {table} (
	lock_key text NOT NULL PRIMARY KEY,
	source   text NOT NULL,
	token    integer NOT NULL CHECK (token >= 0)
) WITHOUT ROWID

--: raise
-- Arguments: key, source, token. One row affected: the token passes. None: it does not. Either way the
-- transaction is now the database's one writer, and has the newest snapshot, until it ends.
INSERT INTO {table} AS mark (lock_key, source, token) VALUES (?1, ?2, ?3)
ON CONFLICT (lock_key) DO UPDATE SET token = excluded.token
WHERE mark.source = excluded.source AND mark.token <= excluded.token

--: read
-- Argument: key.
SELECT source, token FROM {table} WHERE lock_key = ?1

--: reset
-- Arguments: key, source.
INSERT INTO {table} (lock_key, source, token) VALUES (?1, ?2, 0)
ON CONFLICT (lock_key) DO UPDATE SET source = excluded.source, token = 0

--: resetall
-- Argument: source.
UPDATE {table} SET source = ?1, token = 0
