package servers_test

import (
	"context"
	"testing"

	"github.com/distlock-go/distlock/internal/integration/proxy"
	"github.com/distlock-go/distlock/internal/integration/servers"
	"github.com/jackc/pgx/v5"
)

// scan runs a statement that returns one value.
func scan[V any](t *testing.T, addr, sql string) (v V) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), servers.PostgresURL(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatalf("%s at %s: %v", sql, addr, err)
	}
	return v
}

func TestPostgresKeepsItsDataWhenKilled(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Postgres)
	if v := scan[int](t, s.Addr(), "SELECT current_setting('server_version_num')::int / 10000"); v != 17 {
		t.Errorf("got version %d, want 17", v)
	}
	conn, err := pgx.Connect(t.Context(), servers.PostgresURL(s.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 7 AS v"); err != nil {
		t.Fatal(err)
	}
	servers.Do(t, s.Kill, s.Start)
	if v := scan[int](t, s.Addr(), "SELECT v FROM kept"); v != 7 {
		t.Errorf("got %d, want 7", v)
	}
}

func TestStandbyFollowsAndIsPromoted(t *testing.T) {
	t.Parallel()
	for _, sync := range []bool{true, false} {
		t.Run(map[bool]string{true: "sync", false: "async"}[sync], func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, servers.StandbySpec{Sync: sync})
			if !scan[bool](t, s.Standby.Addr(), "SELECT pg_is_in_recovery()") {
				t.Error("the standby is none")
			}
			s.Link.Set(proxy.Swallow, proxy.Swallow)
			servers.Do(t, s.Primary.Kill, s.Promote)
			if scan[bool](t, s.Standby.Addr(), "SELECT pg_is_in_recovery()") {
				t.Error("it was not promoted")
			}
		})
	}
}

func TestPoolerMovesItsClientsAbout(t *testing.T) {
	t.Parallel()
	p := servers.Start(t, servers.PooledSpec{})
	var conns [2]*pgx.Conn
	for i := range conns {
		c, err := pgx.Connect(t.Context(), servers.PostgresURL(p.Addrs()[0]))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		conns[i] = c
	}
	pid := func(c *pgx.Conn, sql string) (pid int) {
		if err := c.QueryRow(t.Context(), sql, pgx.QueryExecModeSimpleProtocol).Scan(&pid); err != nil {
			t.Fatal(err)
		}
		return pid
	}
	const ask = "SELECT pg_backend_pid()"
	first := pid(conns[0], ask)
	tx, err := conns[1].Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if got := pid(conns[1], ask); got != first {
		t.Errorf("the second client is on %d, want %d, which is free", got, first)
	}
	if got := pid(conns[0], ask); got == first {
		t.Error("the first client has a server process of its own")
	}
}
