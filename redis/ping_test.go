package redis_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

func TestPing(t *testing.T) {
	onServers(t, func(t *testing.T, rdb goredis.UniversalClient, prefix string) {
		ctx := within(t, 10*time.Second)
		if err := client(t, rdb, prefix).Ping(ctx); err != nil {
			t.Error(err)
		}
		if keys := keys(t, rdb, prefix); len(keys) > 0 {
			t.Errorf("left by Ping: %q", keys)
		}
	})
}

// rights are those that the package's documentation lists as needed.
var rights = []string{
	"evalsha", "eval", "get", "set", "del", "pexpire", "pttl", "time", "publish", "subscribe", "unsubscribe", "ping",
}

// Ping names the right that a user lacks, and leaves nothing. Who has all of them
// needs no others.
func TestPingTellsTheMissingRight(t *testing.T) {
	t.Parallel()
	for _, s := range servers {
		if s.name == "cluster" || s.name == "sentinel" { // users are each node's own
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			addr := addresses(t, s.env)[0]
			admin := goredis.NewClient(&goredis.Options{Addr: addr})
			t.Cleanup(func() { admin.Close() })
			all := rights
			if err := pingAs(t, admin, all...); err != nil {
				t.Errorf("with all rights: %v", err)
			}
			for i, missing := range all {
				err := pingAs(t, admin, slices.Delete(slices.Clone(all), i, i+1)...)
				if err == nil || !strings.Contains(err.Error(), "NOPERM") || !strings.Contains(strings.ToLower(err.Error()), missing) {
					t.Errorf("without %s: got %v, want an error that names it", missing, err)
				}
			}
		})
	}
}

// pingAs pings as a user that has these rights alone.
func pingAs(t *testing.T, admin *goredis.Client, rights ...string) error {
	t.Helper()
	ctx, prefix := within(t, 10*time.Second), freshPrefix()
	user := strings.TrimSuffix(prefix, ":")
	rule := []any{"acl", "setuser", user, "on", "nopass", "~" + prefix + "*", "&" + prefix + "*", "+info", "+hello", "+client"} // the last two are go-redis's own
	for _, r := range rights {
		rule = append(rule, "+"+r)
	}
	if err := admin.Do(ctx, rule...).Err(); err != nil {
		t.Fatal(err)
	}
	defer admin.Do(context.Background(), "acl", "deluser", user)
	rdb := goredis.NewClient(&goredis.Options{Addr: admin.Options().Addr, Username: user, Password: "any"})
	defer rdb.Close()
	err := redislock.New(rdb, &redislock.Options{Prefix: prefix}).Ping(ctx)
	eventually(t, "nothing is left of a Ping", func() bool { return len(keys(t, admin, prefix)) == 0 }) // at once but without DEL
	return err
}
