module github.com/distlock-go/distlock

go 1.26.0

// The latest release. It lets a command say that it must not be sent twice
// (Cmder.NoRetry), which an answer of "deleted" or "not there" depends on.
require github.com/redis/go-redis/v9 v9.23.0

// The latest release of etcd's own client; api and grpc come with it, and name its
// errors. grpcfence is made of grpc's interceptors, statuses and metadata.
require (
	go.etcd.io/etcd/api/v3 v3.7.3
	go.etcd.io/etcd/client/v3 v3.7.3
	google.golang.org/grpc v1.83.2
)

// The client under the zookeeper backend, and the types of its options and of
// what it hands out for transactions. It imports the standard library only.
require github.com/go-zookeeper/zk v1.0.4

// The standard detail that says why grpcfence refused a call. It comes with grpc.
require google.golang.org/genproto/googleapis/rpc v0.0.0-20260803160001-6ac0973c030d

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/coreos/go-semver v0.3.1 // indirect
	github.com/coreos/go-systemd/v22 v22.7.0 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.29.0 // indirect
	go.etcd.io/etcd/client/pkg/v3 v3.7.3 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	go.uber.org/zap v1.27.1 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260803160001-6ac0973c030d // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)
