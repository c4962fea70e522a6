package redlock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/redlock"
	goredis "github.com/redis/go-redis/v9"
)

// renamed is a client whose server knows no scripts: they go out under another
// name, so that the answers are the server's.
type renamed struct{}

func (renamed) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (renamed) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		rename(cmd)
		return next(ctx, cmd)
	}
}

func (renamed) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		for _, cmd := range cmds {
			rename(cmd)
		}
		return next(ctx, cmds)
	}
}

// rename changes the name in place, so that go-redis reads the answer into cmd
// itself.
func rename(cmd goredis.Cmder) {
	if name := cmd.Name(); name == "eval" || name == "evalsha" {
		cmd.Args()[0] = "no-" + name
	}
}

// Stands for: servers that did not know EVALSHA repeated its arguments, and the
// owner of the lock was in the caller's error.
func TestNoOwnerInANodesError(t *testing.T) {
	t.Parallel()
	nodes := dial(t, addresses(t))
	for _, n := range nodes {
		n.AddHook(renamed{})
	}
	b := redlock.New(nodes, &redlock.Options{Prefix: "owner-" + distlock.NewOwner().Text() + ":", Fenced: true})
	terms := distlock.Terms{TTL: time.Minute}
	s, err := b.Open(t.Context(), terms)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	r := distlock.Request{Key: "k", Owner: distlock.NewOwner(), Terms: terms}
	unseen := distlock.Hold{Key: r.Key, Owner: r.Owner, Terms: terms}
	_, acquired := s.TryAcquire(t.Context(), r)
	for what, err := range map[string]error{
		"acquire": acquired,
		"renew":   s.(distlock.Renewer).Renew(t.Context(), []distlock.Hold{unseen, unseen})[0],
		"release": s.Release(t.Context(), unseen),
	} {
		if err == nil || !strings.Contains(err.Error(), "unknown command") || strings.Contains(err.Error(), ", with args") {
			t.Errorf("%s: got %v, want that the command is unknown, without its arguments", what, err)
		}
		if err != nil && strings.Contains(err.Error(), r.Owner.Text()[:8]) {
			t.Errorf("%s: a part of the owner is in %q", what, err)
		}
	}
}
