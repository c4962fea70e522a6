-- The marks of distlock's fence: the largest token that a resource has seen. Rows
-- are never to be deleted.
CREATE TABLE IF NOT EXISTS {{table}} (
	key    text COLLATE "C" PRIMARY KEY,  -- the resource
	source text COLLATE "C" NOT NULL,     -- the lock service that the tokens come from
	token  bigint NOT NULL CHECK (token >= 0)
) WITH (fillfactor = 50);
