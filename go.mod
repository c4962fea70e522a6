module github.com/distlock-go/distlock

go 1.26.0

// The latest release. It lets a command say that it must not be sent twice
// (Cmder.NoRetry), which an answer of "deleted" or "not there" depends on.
require github.com/redis/go-redis/v9 v9.23.0

// The client of the postgres backend. It hands out a connection whole (Hijack),
// on which a read can be pending all the time.
require github.com/jackc/pgx/v5 v5.12.0

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)
