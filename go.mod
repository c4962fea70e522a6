module github.com/distlock-go/distlock

go 1.26.0

// The latest release. It lets a command say that it must not be sent twice
// (Cmder.NoRetry), which an answer of "deleted" or "not there" depends on.
require github.com/redis/go-redis/v9 v9.23.0

// The client under the zookeeper backend, and the types of its options and of
// what it hands out for transactions. It imports the standard library only.
require github.com/go-zookeeper/zk v1.0.4

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
