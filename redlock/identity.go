package redlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/rediscall"
	"github.com/distlock-go/distlock/internal/redisreply"
	goredis "github.com/redis/go-redis/v9"
)

// An identity is what a server says of itself.
type identity struct {
	redisreply.Info
	setGet bool // SET … NX GET: Redis 7.0, every Valkey
}

// The oldest server: PXAT is from 6.2.
const oldestMajor, oldestMinor = 6, 2

// askIdentity asks a server.
func askIdentity(ctx context.Context, c rediscall.Client) (identity, error) {
	cmd := rediscall.New("info", "server")
	if err := c.Process(ctx, cmd); err != nil {
		return identity{}, err
	}
	text, err := cmd.Text()
	if err != nil {
		return identity{}, err
	}
	return parseIdentity(text)
}

// parseIdentity reads the answer to INFO server.
func parseIdentity(info string) (id identity, err error) {
	id.Info = redisreply.ReadInfo(info)
	if id.RunID == "" {
		return id, errors.New("the server does not tell its run id")
	}
	if id.Redis != "" && !id.AtLeast(oldestMajor, oldestMinor) {
		return id, distlock.Invalid("server version", id.Redis, "6.2 or later")
	}
	id.setGet = id.AtLeast(7, 0)
	return id, nil
}

// register notes that node i runs as runID, and returns an error as long as
// two nodes are the same server. A server that was restarted has another id.
func (b *Backend) register(i int, runID string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runIDs[i] = runID
	b.same = nil
	seen := make(map[string]int)
	for i, id := range b.runIDs {
		j, twice := seen[id]
		if id != "" && twice {
			b.same = distlock.Invalid("node "+b.name(i), "the same server as node "+b.name(j), "another one")
		}
		seen[id] = i
	}
	return b.same
}

// sameTwice returns the error of register, if it is in force.
func (b *Backend) sameTwice() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.same
}

// name names node i in errors: by its address, if the client tells it.
func (b *Backend) name(i int) string {
	if c, ok := b.clients[i].(*goredis.Client); ok {
		return c.Options().Addr
	}
	return fmt.Sprintf("%d", i+1)
}
