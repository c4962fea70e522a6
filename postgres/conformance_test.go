package postgres_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/locktest"
	pglock "github.com/distlock-go/distlock/postgres"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

func TestConformance(t *testing.T) {
	locktest.Run(t, harness(t, serverURL(t, "DISTLOCK_TEST_POSTGRES")))
}

// harness describes the server at url. Every run has a namespace of its own.
func harness(t *testing.T, url string) locktest.Harness {
	admin := connectTo(t, url, nil)
	opts := fresh()
	terminate := func(ctx context.Context, key string) error {
		tag, err := admin.Exec(ctx, `SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE `+isLock,
			pglock.ID(opts.Namespace, key))
		if err == nil && tag.RowsAffected() != 1 {
			err = errors.New("no connection holds the lock")
		}
		return err
	}
	return locktest.Harness{
		TTL:       pglock.MinTTL,
		Expiry:    4 * time.Second, // and patience for a Break, which waits for a renewal of the holder's
		Parallel:  8,               // two cores have this and the server to run
		LockDelay: 700 * time.Millisecond,
		Backend: func(t testing.TB) distlock.Backend {
			return pglock.New(connectTo(t, url, named(opts)), opts)
		},
		Delete: terminate, // a lock is freed by its connection alone, or with it
		Expel:  terminate,
		DeleteCounter: func(ctx context.Context, key string) error {
			_, err := admin.Exec(ctx, `DELETE FROM public.distlock_tokens WHERE id = $1`, pglock.ID(opts.Namespace, key))
			return err
		},
		Foreign: func(ctx context.Context, key string) error {
			conn, err := pgx.Connect(ctx, url)
			if err != nil {
				return err
			}
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
			_, err = conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, pglock.ID(opts.Namespace, key))
			return err
		},
		Residue: func(ctx context.Context, key string) (n int, err error) {
			err = admin.QueryRow(ctx, `SELECT count(*) FROM pg_locks WHERE `+isLock,
				pglock.ID(opts.Namespace, key)).Scan(&n)
			return n, err
		},
		Sessions: func(ctx context.Context) (n int, err error) {
			err = admin.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1`, opts.Namespace).Scan(&n)
			return n, err
		},
		Link: func(t testing.TB) (distlock.Backend, locktest.Link) {
			var p *locktest.Proxy
			pool := connectTo(t, url, func(c *pgxpool.Config) {
				named(opts)(c)
				cc := c.ConnConfig
				p = locktest.NewProxy(t, net.JoinHostPort(cc.Host, strconv.Itoa(int(cc.Port))))
				host, port, _ := net.SplitHostPort(p.Addr())
				n, _ := strconv.Atoi(port)
				cc.Host, cc.Port = host, uint16(n)
				cc.Fallbacks = nil
			})
			return pglock.New(pool, opts), p
		},
		Without: map[string]string{
			"inspect-waiters":          "waiters have nothing at the server but a channel each",
			"break-hands-over":         "an advisory lock is freed by its own connection, at its next renewal",
			"Restart":                  "the server is shared; restarts are in the fault suite",
			"renewed-after-lost-reply": "the link resets what it has swallowed from, and a lock goes with its connection; a late reply is in the fault suite",
		},
	}
}

// named has the lock connections of a run tell that they are its own.
func named(o *pglock.Options) func(*pgxpool.Config) {
	return func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["application_name"] = o.Namespace }
}

// isLock finds the advisory lock with the number $1 in pg_locks.
const isLock = `locktype = 'advisory' AND objsubid = 1 AND granted
	AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
	AND (classid::bigint << 32 | objid::bigint) = $1`
