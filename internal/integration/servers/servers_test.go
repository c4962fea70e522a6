package servers_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/integration/proxy"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

func TestEverySpecServes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec    servers.Spec
		version string
	}{
		{servers.Redis, "redis_version:8.6."},
		{servers.RedisNoDelex, "redis_version:8.0."},
		{servers.Valkey81, "valkey_version:8.1."},
		{servers.Valkey91, "valkey_version:9.1."},
	} {
		t.Run(c.spec.Name, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, c.spec)
			if got := redis(t, s.Addr(), "INFO server"); !strings.Contains(got, c.version) {
				t.Errorf("got %s, want %s", got, c.version)
			}
		})
	}
}

func TestAddressStaysOverEveryKindOfRestart(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Redis)
	addr := s.Addr()
	for _, c := range []struct {
		name       string
		end, start func(context.Context) error
	}{
		{"stop", s.Stop, s.Start},
		{"kill", s.Kill, s.Start},
		{"kill and lose the disk", s.Kill, s.StartEmpty},
		{"kill while paused", func(ctx context.Context) error {
			if err := s.Pause(ctx); err != nil {
				return err
			}
			return s.Kill(ctx)
		}, s.Start},
	} {
		servers.Do(t, c.end)
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			t.Errorf("%s: it still serves", c.name)
		}
		servers.Do(t, c.start)
		if got := redis(t, addr, "PING"); got != "+PONG" || s.Addr() != addr {
			t.Errorf("%s: got %q at %s, want +PONG at %s", c.name, got, s.Addr(), addr)
		}
	}
	servers.Do(t, s.StartEmpty) // of one that runs
	redis(t, addr, "PING")
}

func TestDataAfterRestart(t *testing.T) {
	t.Parallel()
	memory := servers.Start(t, servers.Redis)
	durable := servers.Start(t, servers.Durable(servers.Redis))
	const kept, gone = ":1", ":0" // replies to EXISTS
	for _, c := range []struct {
		name  string
		s     *servers.Server
		steps []func(context.Context) error
		want  string
	}{
		{"memory, killed", memory, []func(context.Context) error{memory.Kill, memory.Start}, gone},
		{"memory, stopped", memory, []func(context.Context) error{memory.Stop, memory.Start}, gone},
		{"durable, killed", durable, []func(context.Context) error{durable.Kill, durable.Start}, kept},
		{"durable, stopped", durable, []func(context.Context) error{durable.Stop, durable.Start}, kept},
		{"durable, disk lost", durable, []func(context.Context) error{durable.Kill, durable.StartEmpty}, gone},
	} {
		redis(t, c.s.Addr(), "SET k v")
		servers.Do(t, c.steps...)
		if got := redis(t, c.s.Addr(), "EXISTS k"); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestPausedServerAnswersWhenResumed(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Redis)
	servers.Do(t, s.Pause)
	reply := make(chan string, 1)
	go func() { // ends with the reply or redis's own limit
		got, _ := try(s.Addr(), "PING")
		reply <- got
	}()
	select {
	case got := <-reply:
		t.Errorf("a paused server replied %q", got)
	case <-time.After(200 * time.Millisecond):
	}
	servers.Do(t, s.Resume)
	if got := <-reply; got != "+PONG" {
		t.Errorf("got %q after resuming, want +PONG", got)
	}
}

func TestProxyOutlivesARestart(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Redis)
	p := s.Proxy(t)
	redis(t, p.Addr(), "PING")
	servers.Do(t, s.Kill, s.Start)
	if got := redis(t, p.Addr(), "PING"); got != "+PONG" {
		t.Errorf("got %q, want +PONG", got)
	}
}

func TestFailedStartTellsWhyAndLeavesNothing(t *testing.T) {
	t.Parallel()
	_, err := servers.Redis.WithArgs("--no-such-option", "1").Launch(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no-such-option") {
		t.Errorf("got %v, want an error with what the server printed", err)
	}
}

func TestReplicaGetsWritesOnlyOverItsLink(t *testing.T) {
	t.Parallel()
	p := servers.Start(t, servers.PairSpec{Of: servers.Redis})
	redis(t, p.Primary.Addr(), "SET k 1")
	eventually(t, "the replica has the first write", func() bool {
		return redis(t, p.Replica.Addr(), "EXISTS k") == ":1"
	})
	p.Link.Set(proxy.Swallow, proxy.Swallow)
	redis(t, p.Primary.Addr(), "SET lost 1") // confirmed all the same
	servers.Do(t, p.Primary.Kill, p.Promote)
	if got := redis(t, p.Replica.Addr(), "EXISTS lost"); got != ":0" {
		t.Errorf("got %q, want :0", got)
	}
	if got := redis(t, p.Replica.Addr(), "SET k 2"); got != "+OK" {
		t.Errorf("got %q from the promoted replica, want +OK", got)
	}
}
