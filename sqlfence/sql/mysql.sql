--: schema
-- Bytes, not text: collations of text fold case and ignore trailing spaces.
CREATE TABLE IF NOT EXISTS {table} (
	lock_key varbinary(512) NOT NULL PRIMARY KEY,
	source   varbinary(128) NOT NULL,
	token    bigint NOT NULL CHECK (token >= 0),
	version  bigint NOT NULL
) ENGINE=InnoDB

--: read
-- Argument: key. A plain read, of the transaction's own snapshot.
SELECT source, token, version FROM {table} WHERE lock_key = ?

--: raise
-- Arguments: token, key, version. One row affected: the row was still as the snapshot shows it, and is
-- locked until the transaction ends. None: it was not. Every check changes the version, also one with an
-- equal token, so that this sees all that came after the snapshot.
UPDATE {table} SET token = ?, version = version + 1 WHERE lock_key = ? AND version = ?

--: lock
-- Arguments: key, source. Makes sure that there is a row, changes none, and locks it. An insert and not a
-- SELECT FOR UPDATE, which where it finds nothing locks the gap, for the first checks of other keys too,
-- and ends in deadlocks between them.
INSERT INTO {table} (lock_key, source, token, version) VALUES (?, ?, 0, 0)
ON DUPLICATE KEY UPDATE lock_key = lock_key

--: reset
-- Arguments: key, source, source.
INSERT INTO {table} (lock_key, source, token, version) VALUES (?, ?, 0, 0)
ON DUPLICATE KEY UPDATE source = ?, token = 0, version = version + 1

--: resetall
-- Argument: source.
UPDATE {table} SET source = ?, token = 0, version = version + 1
