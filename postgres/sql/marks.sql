-- The marks of distlock's fence: the largest token that a resource has seen. Rows
-- are never to be deleted.
CREATE TABLE IF NOT EXISTS {{table}} (
	source text   NOT NULL,  -- the lock service that the tokens come from
	key    text   NOT NULL,  -- the resource
	token  bigint NOT NULL,
	PRIMARY KEY (source, key)
) WITH (fillfactor = 50);
