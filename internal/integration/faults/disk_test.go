package faults_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// A disk is the storage of a server that can be filled and freed.
type disk struct {
	spec       servers.Spec
	fill, free func(*testing.T, *servers.Server)
	// ends says that the server ends itself when it cannot write, and what it had with it.
	ends bool
}

var disks = map[string]disk{
	"redis":     onDisk(servers.Redis.WithArgs("--dir", servers.Disk, "--appendonly", "yes"), 4<<20, false),
	"postgres":  onDisk(withEnv(servers.Postgres, "PGDATA", servers.Disk+"/data"), 128<<20, false),
	"zookeeper": onDisk(servers.ZooKeeperWith("dataDir="+servers.Disk), 16<<20, true),
	"consul":    onDisk(servers.Consul.WithArgs("-data-dir="+servers.Disk), 64<<20, false),
	"etcd":      {spec: servers.Etcd.WithArgs("--quota-backend-bytes", fmt.Sprint(1<<20)), fill: fillEtcd, free: freeEtcd},
}

// onDisk is a server with a small disk.
func onDisk(spec servers.Spec, size int64, ends bool) disk {
	return disk{
		spec: spec.WithDisk(size),
		fill: func(t *testing.T, s *servers.Server) { t.Helper(); servers.Do(t, s.FillDisk) },
		free: func(t *testing.T, s *servers.Server) { t.Helper(); servers.Do(t, s.FreeDisk) },
		ends: ends,
	}
}

func withEnv(s servers.Spec, name, value string) servers.Spec {
	env := map[string]string{name: value}
	for k, v := range s.Env {
		env[k] = v
	}
	s.Env = env
	return s
}

// fillEtcd writes until the quota raises etcd's alarm.
func fillEtcd(t *testing.T, s *servers.Server) {
	t.Helper()
	cli := etcdDial(t, s.Addr())
	eventually(t, bound, "the quota is used up", func() bool {
		_, err := cli.Put(within(t, bound), "filler", string(make([]byte, 100_000)))
		return err != nil
	})
}

// freeEtcd does what etcd's manual asks for after the alarm.
func freeEtcd(t *testing.T, s *servers.Server) {
	t.Helper()
	cli := etcdDial(t, s.Addr())
	r, err := cli.Delete(within(t, bound), "filler")
	if err == nil {
		_, err = cli.Compact(within(t, bound), r.Header.Revision, clientv3.WithCompactPhysical())
	}
	if err == nil {
		_, err = cli.Defragment(within(t, bound), s.Addr())
	}
	if err == nil {
		_, err = cli.AlarmDisarm(within(t, bound), &clientv3.AlarmMember{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Stands for: a grant that is in memory only, as the disk was full, and is forgotten; a
// full disk that looks like a held key; or one that ends leases which need no room.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	forBackends(t, diskFull, func(t *testing.T, s *service, c cell) {
		d := disks[s.name]
		f := fleet{servers.Start(t, d.spec)}
		locks := s.locks(t, f.addrs())
		old := insist(t, s.locks(t, f.addrs(), distlock.WithTTL(longTTL/3)), keyOf(t))
		d.fill(t, f[0])
		var refusal error
		for n := 0; refusal == nil; n++ { // each needs a little room
			var l *distlock.Lease
			ctx, cancel := context.WithTimeout(t.Context(), bound)
			if l, refusal = locks.TryAcquire(ctx, fmt.Sprintf("%s-%d", keyOf(t), n)); refusal == nil && n == 20_000 {
				t.Fatalf("%d grants with a full disk, the last with token %v", n, l.Token())
			}
			cancel()
		}
		t.Logf("refused: %v", refusal)
		if isHeld(refusal) {
			t.Errorf("got %v from a server whose disk is full, want its own word", refusal)
		}
		for end := time.Now().Add(longTTL / 3); time.Now().Before(end); pause(100 * time.Millisecond) {
			if l, err := locks.TryAcquire(within(t, time.Second), old.Key()); err == nil {
				c.judge(t, old, l, time.Now())
				release(t, l)
			}
		}
		t.Logf("the lease is valid: %v", old.Valid())
		if d.ends {
			eventually(t, bound, "the holder is told", func() bool { return isClosed(old.Done()) })
			return
		}
		d.free(t, f[0])
		if err := old.Release(within(t, bound)); err != nil && !isLost(err) {
			t.Errorf("got %v from Release", err)
		}
		next := insist(t, s.locks(t, f.addrs()), old.Key())
		c.judge(t, old, next, time.Now())
		release(t, next)
	})
}
