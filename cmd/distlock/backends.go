//go:build unix

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/consul"
	"github.com/distlock-go/distlock/etcd"
	"github.com/distlock-go/distlock/memory"
	"github.com/distlock-go/distlock/postgres"
	redislock "github.com/distlock-go/distlock/redis"
	"github.com/distlock-go/distlock/redlock"
	"github.com/distlock-go/distlock/zookeeper"
)

// A backend is what -backend can name. Open connects to addr, which is not empty
// unless the backend needs none; only etcd with a user sends something by then.
// The close that it returns is called at the end.
type backend struct {
	name, addr string // the form of -addr
	leastTTL   time.Duration
	open       func(addr string) (b distlock.Backend, close func() error, err error)
}

var backends = []backend{
	{noAddr, "none: it excludes nobody, and is there to try things out", memory.MinTTL, openMemory},
	{"redis", "HOST:PORT, several for a Cluster, or a redis:// or rediss:// URL", redislock.MinTTL, openRedis},
	{"redlock", "at least three, each HOST:PORT or a redis:// or rediss:// URL", redlock.MinTTL, openRedlock},
	{"etcd", "HOST:PORT or an http:// or https:// URL, several for a cluster", etcd.MinTTL, openEtcd},
	{"zookeeper", "HOST:PORT, several for an ensemble", zookeeper.MinTTL, openZooKeeper},
	{"consul", "HOST:PORT or an http:// or https:// URL of an agent", consul.MinTTL, openConsul},
	{"postgres", "a postgres:// URL", postgres.MinTTL, openPostgres},
}

// noAddr is the backend without an address.
const noAddr = "memory"

// errService is the failure of a service that open has asked.
var errService = errors.New("the lock service failed")

// open finds the backend called name.
func open(name, addr string) (distlock.Backend, func() error, error) {
	var names []string
	for _, b := range backends {
		if b.name == name && addr == "" && name != noAddr {
			return nil, nil, fmt.Errorf("-addr is missing: %s", b.addr)
		}
		if b.name == name {
			return b.open(addr)
		}
		names = append(names, b.name)
	}
	return nil, nil, fmt.Errorf("-backend is %q, must be one of %s", name, strings.Join(names, ", "))
}

// leastTTL is that of the backend called name, 0 if there is none of the name.
func leastTTL(name string) time.Duration {
	i := slices.IndexFunc(backends, func(b backend) bool { return b.name == name })
	if i < 0 {
		return 0
	}
	return backends[i].leastTTL
}
