package faults_test

import (
	"errors"
	"testing"

	consullock "github.com/distlock-go/distlock/consul"
	etcdlock "github.com/distlock-go/distlock/etcd"
	pglock "github.com/distlock-go/distlock/postgres"
	"github.com/distlock-go/distlock/redlock"
	zklock "github.com/distlock-go/distlock/zookeeper"
	"github.com/go-zookeeper/zk"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// An admin does things to a key behind the library's back. What a service does not have
// is nil.
type admin struct {
	// deleteLock deletes the lock and nothing else.
	deleteLock func(key string)
	// deleteCounter deletes what tokens of the key are taken from, and the lock if it
	// cannot stay without.
	deleteCounter func(key string)
	// endSession ends the session of the holder.
	endSession func(key string)
}

func redisAdmin(t testing.TB, f fleet) admin {
	del := func(suffixes ...string) func(string) {
		return func(key string) {
			t.Helper()
			for _, s := range f {
				rdb := dial(t, s.Addr())
				for _, suffix := range suffixes { // of either backend: one of them is there
					if err := rdb.Del(t.Context(), lockName(key)+suffix, redlock.DefaultPrefix+"{"+key+"}"+suffix).Err(); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	return admin{deleteLock: del(""), deleteCounter: del("", ":token")}
}

func etcdAdmin(t testing.TB, f fleet) admin {
	cli := etcdDial(t, f.addrs()...)
	return admin{
		deleteLock: func(key string) { etcdDelete(t, cli, etcdlock.DefaultPrefix+key+"/") },
		endSession: func(key string) {
			t.Helper()
			first := append(clientv3.WithFirstCreate(), clientv3.WithPrefix())
			resp, err := cli.Get(within(t, bound), etcdlock.DefaultPrefix+key+"/", first...)
			if err == nil && len(resp.Kvs) == 0 {
				err = errors.New("nobody holds the key")
			}
			if err == nil {
				_, err = cli.Revoke(within(t, bound), clientv3.LeaseID(resp.Kvs[0].Lease))
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	}
}

func zooKeeperAdmin(t testing.TB, f fleet) admin {
	k := newKeeper(t, f.addrs()...)
	k.root = zklock.DefaultRoot
	remove := func(key string, more ...any) {
		t.Helper()
		_, err := k.admin.Multi(append([]any{&zk.DeleteRequest{Path: k.nodes(key)[0], Version: -1}}, more...)...)
		if err != nil {
			t.Fatal(err)
		}
	}
	return admin{
		deleteLock:    func(key string) { remove(key) },
		deleteCounter: func(key string) { remove(key, &zk.DeleteRequest{Path: k.parent(key), Version: -1}) },
		endSession:    func(key string) { k.expel(k.nodes(key)[0]) },
	}
}

func consulAdmin(t testing.TB, f fleet) admin {
	c := consulAt(t, f[0].Addr())
	return admin{
		deleteLock: func(key string) {
			t.Helper()
			if _, err := c.KV().Delete(consullock.DefaultPrefix+key, nil); err != nil {
				t.Fatal(err)
			}
		},
		endSession: func(key string) {
			t.Helper()
			if _, err := c.Session().Destroy(consulEntry(t, c, key).Session, nil); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func postgresAdmin(t testing.TB, f fleet) admin {
	pool := pgPool(t, f[0].Addr(), 1)
	return admin{
		deleteCounter: func(key string) {
			t.Helper()
			pgScan[int64](t, pool, "DELETE FROM public.distlock_tokens WHERE id = $1 RETURNING token", pglock.ID(pglock.DefaultNamespace, key))
		},
		endSession: func(key string) {
			t.Helper()
			pgScan[int](t, pool, "SELECT count(pg_terminate_backend(pid)) "+pgHeld, pglock.ID(pglock.DefaultNamespace, key))
		},
	}
}
