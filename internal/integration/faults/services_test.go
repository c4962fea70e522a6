package faults_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
	etcdlock "github.com/distlock-go/distlock/etcd"
	"github.com/distlock-go/distlock/internal/integration/proxy"
	"github.com/distlock-go/distlock/internal/integration/servers"
	pglock "github.com/distlock-go/distlock/postgres"
	redislock "github.com/distlock-go/distlock/redis"
	"github.com/distlock-go/distlock/redlock"
	zklock "github.com/distlock-go/distlock/zookeeper"
	"github.com/hashicorp/consul/api"
	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"
)

// shortTTL is that of leases which are to end in a test of all backends, longTTL of those
// which are not. All servers here take both.
const (
	shortTTL = 2 * time.Second
	longTTL  = 30 * time.Second
)

// A service is a backend as the tests of all backends know it.
type service struct {
	name string
	// connect returns a backend over the servers at addrs, and what closes the client
	// under it. It runs in the processes of holders, too.
	connect func(addrs []string) (distlock.Backend, func(), error)
	// shared returns servers that no test harms.
	shared func() (fleet, error)
	// own starts servers for one test, which have their data when they are started again.
	own func(t testing.TB) fleet
	// admin does things behind the library's back.
	admin func(t testing.TB, f fleet) admin
	// version returns that of the server at addr.
	version func(ctx context.Context, addr string) (string, error)
}

// services are all backends with a service, in the order of the tables.
var services = []*service{
	{"etcd", connectEtcd, alone(etcdServer), ownServer(servers.Etcd), etcdAdmin, etcdVersion},
	{"zookeeper", connectZooKeeper, alone(healthyKeeper), ownServer(servers.ZooKeeper), zooKeeperAdmin, zooKeeperVersion},
	{"consul", connectConsul, alone(healthyConsul), ownServer(servers.Consul.WithArgs("-data-dir=/distlock-data")), consulAdmin, consulVersion},
	{"postgres", connectPostgres, alone(healthyPostgres), ownServer(servers.Postgres), postgresAdmin, postgresVersion},
	{"redis", connectRedis, alone(healthy), ownServer(servers.Durable(servers.Redis)), redisAdmin, redisVersion},
	{"redlock", connectRedlock, healthyNodes, ownNodes, redisAdmin, redisVersion},
}

// serviceNamed returns the service of a backend, or nil.
func serviceNamed(name string) *service {
	for _, s := range services {
		if s.name == name {
			return s
		}
	}
	return nil
}

// locks returns a lock client over the servers at addrs, closed at the end of the test.
// By default its leases have longTTL and no lock-delay.
func (s *service) locks(t testing.TB, addrs []string, opts ...distlock.Option) *distlock.Client {
	t.Helper()
	b, disconnect, err := s.connect(addrs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(disconnect)
	c, err := distlock.New(b, append([]distlock.Option{distlock.WithTTL(longTTL), distlock.WithLockDelay(0)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeBound)
		defer cancel()
		_ = c.Close(ctx) // an error says only that the server is gone
	})
	return c
}

// healthy returns the servers that no test harms.
func (s *service) healthy(t testing.TB) fleet {
	t.Helper()
	f, err := s.shared()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A fleet is the servers that one lock client needs.
type fleet []*servers.Server

func (f fleet) addrs() (all []string) {
	for _, s := range f {
		all = append(all, s.Addr())
	}
	return all
}

// each does things to all servers, one thing after the other.
func (f fleet) each(t testing.TB, steps ...func(*servers.Server, context.Context) error) {
	t.Helper()
	for _, step := range steps {
		errs := make([]error, len(f))
		var all sync.WaitGroup
		ctx := within(t, 10*bound)
		for i, s := range f {
			all.Go(func() { errs[i] = step(s, ctx) })
		}
		all.Wait()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// link puts a network in front of the servers.
func (f fleet) link(t testing.TB) links {
	t.Helper()
	var all links
	for _, s := range f {
		all = append(all, s.Proxy(t))
	}
	t.Cleanup(func() { all.set(proxy.Pass, proxy.Pass) }) // before clients close, so that they can
	return all
}

// links are the networks to all servers of a fleet, which fail together.
type links []*proxy.Proxy

func (l links) addrs() (all []string) {
	for _, p := range l {
		all = append(all, p.Addr())
	}
	return all
}

func (l links) set(requests, replies proxy.Mode) {
	for _, p := range l {
		p.Set(requests, replies)
	}
}

// pending returns how many bytes of requests are held.
func (l links) pending() (n int64) {
	for _, p := range l {
		n += int64(p.Stats().Requests.Pending())
	}
	return n
}

// alone makes a fleet of the one server that start returns.
func alone(start func() (*servers.Server, error)) func() (fleet, error) {
	return func() (fleet, error) {
		s, err := start()
		return fleet{s}, err
	}
}

func ownServer(spec servers.Spec) func(testing.TB) fleet {
	return func(t testing.TB) fleet { return fleet{servers.Start(t, spec)} }
}

func ownNodes(t testing.TB) fleet {
	return servers.Start(t, servers.MastersSpec{Of: servers.Durable(servers.Redis), Count: 3}).Nodes
}

var healthyNodes = sync.OnceValues(func() (fleet, error) {
	m, err := servers.MastersSpec{Of: servers.Redis, Count: 3}.Launch(context.Background())
	if err != nil {
		return nil, err
	}
	return m.Nodes, nil
})

func connectEtcd(addrs []string) (distlock.Backend, func(), error) {
	cli, err := etcdConnect(addrs)
	if err != nil {
		return nil, nil, err
	}
	return etcdlock.New(cli, nil), func() { cli.Close() }, nil
}

func connectZooKeeper(addrs []string) (distlock.Backend, func(), error) {
	return zklock.New(addrs, &zklock.Options{Tick: servers.ZooKeeperTick}), func() {}, nil
}

func connectConsul(addrs []string) (distlock.Backend, func(), error) {
	config := api.DefaultConfig()
	config.Address = addrs[0]
	c, err := api.NewClient(config)
	if err != nil {
		return nil, nil, err
	}
	minTTL, err := time.ParseDuration(servers.ConsulMinTTL)
	return consullock.New(c, &consullock.Options{MinTTL: minTTL}), config.Transport.CloseIdleConnections, err
}

func connectPostgres(addrs []string) (distlock.Backend, func(), error) {
	cfg, err := pgxpool.ParseConfig(servers.PostgresURL(addrs[0]))
	if err != nil {
		return nil, nil, err
	}
	cfg.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		return nil, nil, err
	}
	return pglock.New(pool, pgOptions), pool.Close, nil
}

func connectRedis(addrs []string) (distlock.Backend, func(), error) {
	rdb := goredis.NewClient(&goredis.Options{Addr: addrs[0]})
	return redislock.New(rdb, nil), func() { rdb.Close() }, nil
}

func connectRedlock(addrs []string) (distlock.Backend, func(), error) {
	var nodes []goredis.UniversalClient
	for _, a := range addrs {
		nodes = append(nodes, goredis.NewClient(&goredis.Options{Addr: a}))
	}
	disconnect := func() {
		for _, n := range nodes {
			n.Close()
		}
	}
	return redlock.New(nodes, &redlock.Options{Fenced: true, NodeTimeout: patient}), disconnect, nil
}

// keyOf is a key of the test's own, plain enough to be its own name on every service.
func keyOf(t testing.TB) string {
	return strings.NewReplacer("/", "-", " ", "-", ",", "").Replace(t.Name())
}
