package redis

import (
	"context"
	"sync/atomic"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/rediscall"
	"github.com/distlock-go/distlock/internal/redisreply"
)

// server is what the server is known to understand. What it turns out not to
// understand after all, say after a failover to an older version, is switched
// off for good, and scripts do the work.
type server struct {
	known atomic.Bool
	// delete is the name of the command that deletes a key if it has a value:
	// DELEX … IFEQ from Redis 8.4, DELIFEQ from Valkey 9; nil is neither.
	delete atomic.Pointer[string]
	// setIfEq: SET … IFEQ, from Redis 8.4 and Valkey 8.1.
	setIfEq atomic.Bool
}

// The oldest server: SET with both NX and GET is from 7.0.
const oldestMajor, oldestMinor = 7, 0

// ask reads the server's version. Who may not ask gets along with scripts.
func (b *Backend) ask(ctx context.Context) error {
	cmd := rediscall.New("info", "server")
	err := promptly(ctx, func() error { return b.bounded.Process(ctx, cmd) })
	if redisreply.IsBroken(err) { // an idle connection that the server had closed
		cmd = rediscall.New("info", "server")
		err = promptly(ctx, func() error { return b.bounded.Process(ctx, cmd) })
	}
	if redisreply.Begins(err, "NOPERM", "ERR unknown command") {
		b.server.known.Store(true)
		return nil
	}
	if err != nil {
		return err
	}
	text, err := cmd.Text()
	if err != nil {
		return err
	}
	return b.server.learn(text)
}

// learn takes in the answer to INFO server.
func (s *server) learn(info string) error {
	i := redisreply.ReadInfo(info)
	if i.Redis != "" && !i.AtLeast(oldestMajor, oldestMinor) {
		return distlock.Invalid("server version", i.Redis, "7.0 or later")
	}
	s.setIfEq.Store(i.SetIfEq)
	s.delete.Store(nil)
	if i.Delete != "" {
		s.delete.Store(&i.Delete)
	}
	s.known.Store(true)
	return nil
}
