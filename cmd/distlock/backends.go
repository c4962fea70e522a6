//go:build unix

package main

import (
	"errors"
	"fmt"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
	redislock "github.com/distlock-go/distlock/redis"
)

// backends is the table of what -backend can name. Open connects to addr, which
// may name several servers, parted by commas; it sends nothing yet. The close
// that it returns is called at the end.
var backends = []struct {
	name, addr string // the form of -addr
	open       func(addr string) (b distlock.Backend, close func() error, err error)
}{
	{"memory", "none: it excludes nobody, and is there to try things out", openMemory},
	{"redis", "HOST:PORT, several for a Cluster, or a redis:// or rediss:// URL", openRedis},
}

func openMemory(string) (distlock.Backend, func() error, error) {
	return memory.New(), func() error { return nil }, nil
}

func openRedis(addr string) (distlock.Backend, func() error, error) {
	if addr == "" {
		return nil, nil, errors.New("-addr is missing: HOST:PORT or a URL")
	}
	if strings.Contains(addr, "://") {
		o, err := goredis.ParseURL(addr)
		if err != nil {
			return nil, nil, errors.New("-addr is no URL of a Redis") // it may have a password in it
		}
		rdb := goredis.NewClient(o)
		return redislock.New(rdb, nil), rdb.Close, nil
	}
	rdb := goredis.NewUniversalClient(&goredis.UniversalOptions{Addrs: strings.Split(addr, ",")})
	return redislock.New(rdb, nil), rdb.Close, nil
}

// open finds the backend called name.
func open(name, addr string) (distlock.Backend, func() error, error) {
	var names []string
	for _, b := range backends {
		if b.name == name {
			return b.open(addr)
		}
		names = append(names, b.name)
	}
	return nil, nil, fmt.Errorf("-backend is %q, must be one of %s", name, strings.Join(names, ", "))
}
