package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	pglock "github.com/distlock-go/distlock/postgres"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A place is a schema of a test's own, dropped at the end.
func place(t testing.TB, pool *pgxpool.Pool) *pglock.Options {
	t.Helper()
	o := &pglock.Options{Namespace: fresh().Namespace, Schema: `Odd "name"; ` + distlock.NewOwner().Text()[:12], Table: `sel"ect`}
	t.Cleanup(func() { exec(t, pool, "DROP SCHEMA IF EXISTS "+pgx.Identifier{o.Schema}.Sanitize()+" CASCADE") })
	return o
}

func exec(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := pool.Exec(ctx, sql, args...); err != nil {
		t.Errorf("%s: %v", sql, err)
	}
}

// The table can be made by the user, or by the backend if it may; names are
// taken as they are.
func TestTable(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	o := place(t, pool)
	err := client(t, pool, o).Ping(t.Context())
	if err == nil || !strings.Contains(err.Error(), "pglock.Schema") {
		t.Errorf("Ping without a table: got %v, want one that says what to do", err)
	}
	for range 2 { // it may be run again
		exec(t, pool, pglock.Schema(o))
	}
	c := client(t, pool, o)
	is(t, "Ping with the table", c.Ping(t.Context()))
	var rows int
	table := pgx.Identifier{o.Schema, o.Table}.Sanitize()
	is(t, "count", pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&rows))
	if rows != 0 {
		t.Errorf("Ping has left %d rows", rows)
	}
	l, err := c.Acquire(t.Context(), "k", distlock.WithHolder("worker 7"))
	is(t, "Acquire", err)
	var holder, namespace, key string
	var token int64
	is(t, "the row", pool.QueryRow(t.Context(), "SELECT namespace, key, holder, token FROM "+table+" WHERE id = $1",
		pglock.ID(o.Namespace, "k")).Scan(&namespace, &key, &holder, &token))
	if namespace != o.Namespace || key != "k" || holder != "worker 7" || token != int64(l.Token()) {
		t.Errorf("got %q, %q, %q, %d", namespace, key, holder, token)
	}
}

func TestClientsThatStartTogetherMakeTheTableOnce(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	o := place(t, pool)
	o.CreateTable = true
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { is(t, "Ping", client(t, pool, o).Ping(t.Context())) })
	}
	wg.Wait()
}

// What would lose tokens at a crash is refused.
func TestUnloggedTable(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	o := place(t, pool)
	exec(t, pool, strings.Replace(pglock.Schema(o), "CREATE TABLE", "CREATE UNLOGGED TABLE", 1))
	err := client(t, pool, o).Ping(t.Context())
	if err == nil || !strings.Contains(err.Error(), "logged") {
		t.Errorf("got %v, want that the table is not logged", err)
	}
}

// Each right that is missing is named; with those of the documentation it works.
func TestRights(t *testing.T) {
	t.Parallel()
	admin := connect(t)
	o := place(t, admin)
	exec(t, admin, pglock.Schema(o))
	user := "test_" + distlock.NewOwner().Text()[:12]
	exec(t, admin, "CREATE ROLE "+user+" LOGIN PASSWORD 'x'")
	t.Cleanup(func() { exec(t, admin, "DROP OWNED BY "+user+"; DROP ROLE "+user) })
	u, err := url.Parse(serverURL(t, "DISTLOCK_TEST_POSTGRES"))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, "x")
	c := client(t, connectTo(t, u.String(), nil), o)
	schema, table := pgx.Identifier{o.Schema}.Sanitize(), pgx.Identifier{o.Schema, o.Table}.Sanitize()
	for _, step := range []struct{ lacks, grant string }{
		{"USAGE", "USAGE ON SCHEMA " + schema},
		{"SELECT", "SELECT ON " + table},
		{"INSERT", "INSERT ON " + table},
		{"UPDATE", "UPDATE ON " + table},
	} {
		_, acquire := c.TryAcquire(t.Context(), "k")
		for call, err := range map[string]error{"Ping": c.Ping(t.Context()), "TryAcquire": acquire} {
			if err == nil || !strings.Contains(err.Error(), step.lacks) || !strings.Contains(err.Error(), user) {
				t.Errorf("%s without %s: got %v", call, step.lacks, err)
			}
		}
		exec(t, admin, "GRANT "+step.grant+" TO "+user)
	}
	is(t, "Ping with all rights", c.Ping(t.Context()))
	l, err := c.Acquire(t.Context(), "k", distlock.WithLockDelay(time.Second))
	is(t, "Acquire with all rights", err)
	is(t, "Release", l.Release(t.Context()))
}

// Nothing of the user's own settings weakens what the backend promises.
func TestSettingsOfTheRole(t *testing.T) {
	t.Parallel()
	pool := connectTo(t, serverURL(t, "DISTLOCK_TEST_POSTGRES"), func(c *pgxpool.Config) {
		c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, `SET synchronous_commit = off; SET default_transaction_isolation = serializable;
				SET default_transaction_read_only = on; SET client_min_messages = error; SET statement_timeout = 9999;
				SET idle_session_timeout = 0; SET search_path = nowhere`)
			return err
		}
	})
	want := map[string]string{
		"synchronous_commit": "on", "idle_session_timeout": "7s", "statement_timeout": "0",
		"client_min_messages": "warning", "default_transaction_isolation": "read committed",
		"client_connection_check_interval": "7s", "tcp_user_timeout": "7000", "idle_in_transaction_session_timeout": "7s",
	}
	got, err := pglock.SettingsOf(t.Context(), pglock.New(pool, fresh()), distlock.Terms{TTL: 7 * time.Second})
	is(t, "the settings", err)
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %q, want %q", name, got[name], value)
		}
	}
}

func TestStricterCommitStays(t *testing.T) {
	t.Parallel()
	pool := connectTo(t, serverURL(t, "DISTLOCK_TEST_POSTGRES"), func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["synchronous_commit"] = "remote_apply"
	})
	got, err := pglock.SettingsOf(t.Context(), pglock.New(pool, fresh()), distlock.Terms{TTL: time.Second})
	if err != nil || got["synchronous_commit"] != "remote_apply" {
		t.Errorf("got %q, %v", got["synchronous_commit"], err)
	}
}

func TestInputOfNew(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), "postgres://localhost") // connects when it is used
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for name, b := range map[string]*pglock.Backend{
		"nil":            pglock.New(nil, nil),
		"a nil pool":     pglock.New((*pgxpool.Pool)(nil), nil),
		"long namespace": pglock.New(pool, &pglock.Options{Namespace: fmt.Sprintf("%129d", 1)}),
		"bad namespace":  pglock.New(pool, &pglock.Options{Namespace: "a\x00"}),
		"long schema":    pglock.New(pool, &pglock.Options{Schema: fmt.Sprintf("%64d", 1)}),
		"bad table":      pglock.New(pool, &pglock.Options{Table: "\xff"}),
	} {
		_, err := distlock.New(b)
		is(t, name, err, distlock.ErrInvalid)
	}
	for o, level := range map[*pglock.Options]distlock.Fencing{
		nil: distlock.FencingBestEffort, {NoAsyncFailover: true}: distlock.FencingDurable,
	} {
		_, err := distlock.New(pglock.New(pool, o), distlock.RequireFencing(level))
		is(t, "RequireFencing", err)
	}
	_, err = distlock.New(pglock.New(pool, nil), distlock.RequireFencing(distlock.FencingDurable))
	is(t, "RequireFencing of an undeclared server", err, distlock.ErrNoFencing)
}

// A server that takes no more connections says so, and a ctx that ends first
// is the caller's own.
func TestNoConnectionToBeHad(t *testing.T) {
	t.Parallel()
	pool := connectTo(t, serverURL(t, "DISTLOCK_TEST_POSTGRES"), func(c *pgxpool.Config) {
		c.BeforeConnect = func(ctx context.Context, _ *pgx.ConnConfig) error {
			<-ctx.Done()
			return fmt.Errorf("the vault of passwords: %w", ctx.Err())
		}
	})
	_, err := client(t, pool, fresh()).Acquire(within(t, 100*time.Millisecond), "k")
	is(t, "Acquire", err, context.DeadlineExceeded)
	err = client(t, pool, fresh()).Ping(within(t, 100*time.Millisecond))
	if err == nil || !strings.Contains(err.Error(), "connect outside the pool: the vault of passwords") {
		t.Errorf("got %v, want what kept it from connecting", err)
	}
}
