// Package migration_test compiles the code of other libraries that is set beside
// ours in the documents. The module of the library does not depend on them.
package migration_test

import (
	"testing"

	_ "github.com/bsm/redislock"
	_ "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	_ "github.com/hashicorp/consul/api"
	_ "go.etcd.io/etcd/client/v3/concurrency"

	"github.com/distlock-go/distlock/internal/snippets"
)

func TestOtherLibrariesCompile(t *testing.T) {
	t.Parallel()
	blocks := snippets.Blocks(t, "../../../docs/migration.md", "before")
	if len(blocks) < 7 {
		t.Errorf("got %d blocks of other libraries, want more than that", len(blocks))
	}
	snippets.Scope{
		Names: map[string]string{
			"context":     `"context"`,
			"errors":      `"errors"`,
			"time":        `"time"`,
			"bsm":         `bsm "github.com/bsm/redislock"`,
			"goredis":     `goredis "github.com/redis/go-redis/v9"`,
			"redsync":     `"github.com/go-redsync/redsync/v4"`,
			"goredispool": `goredispool "github.com/go-redsync/redsync/v4/redis/goredis/v9"`,
			"clientv3":    `clientv3 "go.etcd.io/etcd/client/v3"`,
			"concurrency": `"go.etcd.io/etcd/client/v3/concurrency"`,
			"api":         `"github.com/hashicorp/consul/api"`,
		},
		Vars: `ctx context.Context, rdb *goredis.Client, mutex *redsync.Mutex, etcd *clientv3.Client,
	owned *concurrency.Mutex, consul *api.Client, pay func(context.Context) error,
	work func(ctx context.Context, step int) error`,
	}.Check(t, blocks)
}
