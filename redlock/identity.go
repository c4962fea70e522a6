package redlock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/distlock-go/distlock"
	goredis "github.com/redis/go-redis/v9"
)

// An identity is what a server says of itself.
type identity struct {
	runID string
	// delete is the command that deletes a key if it has a value: DELEX … IFEQ
	// from Redis 8.4, DELIFEQ from Valkey 9; "" is neither.
	delete  string
	setIfEq bool // SET … IFEQ: Redis 8.4, Valkey 8.1
	setGet  bool // SET … NX GET: Redis 7.0, every Valkey
}

const delex, delifeq = "delex", "delifeq"

// The oldest server: PXAT is from 6.2.
const oldestMajor, oldestMinor = 6, 2

// askIdentity asks a server.
func askIdentity(ctx context.Context, c client) (identity, error) {
	cmd := newCommand("info", "server")
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
	fields := make(map[string]string)
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	id.runID = fields["run_id"]
	if id.runID == "" {
		return id, errors.New("the server does not tell its run id")
	}
	redis := fields["redis_version"] // Valkey gives the version of Redis that it is compatible with
	if redis != "" && !atLeast(redis, oldestMajor, oldestMinor) {
		return id, distlock.Invalid("server version", redis, "6.2 or later")
	}
	id.setGet = atLeast(redis, 7, 0)
	if v, ok := fields["valkey_version"]; ok {
		id.setIfEq = atLeast(v, 8, 1)
		if atLeast(v, 9, 0) {
			id.delete = delifeq
		}
	} else if atLeast(redis, 8, 4) {
		id.setIfEq, id.delete = true, delex
	}
	return id, nil
}

// atLeast reports whether version, such as 8.6.3, is major.minor or later.
func atLeast(version string, major, minor int) bool {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	x, errX := strconv.Atoi(first)
	y, errY := strconv.Atoi(second)
	return errX == nil && errY == nil && (x > major || x == major && y >= minor)
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
