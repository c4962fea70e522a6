package distlock_test

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/distlock-go/distlock/internal/snippets"
)

// scope is what the code in README.md and docs may use without saying so.
var scope = snippets.Scope{
	Names: map[string]string{
		"context":    `"context"`,
		"errors":     `"errors"`,
		"fmt":        `"fmt"`,
		"log":        `"log"`,
		"slog":       `"log/slog"`,
		"sql":        `"database/sql"`,
		"testing":    `"testing"`,
		"time":       `"time"`,
		"distlock":   `"github.com/distlock-go/distlock"`,
		"locktest":   `"github.com/distlock-go/distlock/locktest"`,
		"memory":     `"github.com/distlock-go/distlock/memory"`,
		"otellock":   `otellock "github.com/distlock-go/distlock/otel"`,
		"sqlfence":   `"github.com/distlock-go/distlock/sqlfence"`,
		"etcdlock":   `etcdlock "github.com/distlock-go/distlock/etcd"`,
		"clientv3":   `clientv3 "go.etcd.io/etcd/client/v3"`,
		"consullock": `consullock "github.com/distlock-go/distlock/consul"`,
		"api":        `"github.com/hashicorp/consul/api"`,
		"redislock":  `redislock "github.com/distlock-go/distlock/redis"`,
		"goredis":    `goredis "github.com/redis/go-redis/v9"`,
	},
	Vars: `ctx context.Context, rdb *goredis.Client, client *distlock.Client, lease *distlock.Lease, fence *distlock.Fence,
	backend distlock.Backend, db *sql.DB, pay func(context.Context, distlock.Token) error,
	etcd *clientv3.Client, consul *api.Client, stock map[string]int, check func(context.Context, int) error`,
	Setup: `ctx = context.Background()
	backend = memory.New()
	client, err := distlock.New(backend)
	if err == nil {
		lease, err = client.Acquire(ctx, "a key")
	}
	if err != nil {
		log.Fatal(err)
	}
	fence = new(distlock.Fence)
	pay = func(ctx context.Context, t distlock.Token) error {
		if t == 0 {
			return errors.New("no token")
		}
		return ctx.Err()
	}
	stock = map[string]int{"shelf-9": 1}
	check = func(ctx context.Context, _ int) error { return ctx.Err() }`,
	Servers: regexp.MustCompile(`\b(rdb|db|etcd|consul)\b`),
}

// TestDocuments compiles all Go code in README.md and docs, and runs it on the memory
// backend, but for what needs a server: a variable of Servers. What is marked as "go
// before" is of other libraries, and is compiled in internal/integration.
func TestDocuments(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []snippets.Block
	for _, file := range append(files, "README.md", "CONTRIBUTING.md", "DESIGN.md") {
		blocks = append(blocks, snippets.Blocks(t, file, "")...)
	}
	if len(blocks) < 10 {
		t.Errorf("got %d blocks of Go, want more than that", len(blocks))
	}
	scope.Check(t, blocks)
}
