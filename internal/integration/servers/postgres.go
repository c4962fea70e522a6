package servers

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// What test databases are reached by.
const (
	postgresUser     = "postgres"
	postgresPassword = "distlock"
)

// Postgres is PostgreSQL with its data on disk: it has what it has confirmed when
// it is started again, even after a Kill.
var Postgres = Spec{
	Name:    "postgres:17",
	Image:   Image{Local: "postgres:17", Official: "postgres:17"},
	Command: postgresCommand,
	Env:     map[string]string{"POSTGRES_PASSWORD": postgresPassword},
	Files:   postgresFiles,
	Ready:   postgresReady,
}

// postgresEntries are what tests of the Postgres backend are run against.
var postgresEntries = []Entry{
	{Name: "postgres", Env: "DISTLOCK_TEST_POSTGRES", Launch: launch[*Server](Postgres), Value: postgresURLs},
	{Name: "pgbouncer", Env: "DISTLOCK_TEST_PGBOUNCER", Launch: launch[*Pooled](PooledSpec{}), Value: postgresURLs},
}

// PostgresURL returns the URL of the server at addr, as the user who may do all.
func PostgresURL(addr string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(postgresUser, postgresPassword), Host: addr,
		Path: "/postgres", RawQuery: "sslmode=disable",
	}
	return u.String()
}

func postgresURLs(addrs []string) string { return PostgresURL(addrs[0]) }

// The image's entrypoint is put into each container, so that the official image
// can be a standby too.
const postgresEntrypoint = "/distlock-entrypoint"

func postgresCommand(ports []int) []string {
	return []string{
		"sh", postgresEntrypoint, "postgres", "-c", "port=" + strconv.Itoa(ports[0]), "-c", "listen_addresses=" + host,
		"-c", "max_connections=300",
	}
}

func postgresFiles([]int) map[string]string {
	_, file, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "..", "images", "postgres", "entrypoint"))
	if err != nil {
		panic(err) // the sources are there: they were compiled
	}
	return map[string]string{postgresEntrypoint: string(text)}
}

func postgresReady(ctx context.Context, addr string) error {
	var one int
	return query(ctx, addr, "SELECT 1", &one)
}

// query runs one statement at addr, over a connection of its own, and reads the
// row that it returns.
func query(ctx context.Context, addr, sql string, to ...any) error {
	conn, err := pgx.Connect(ctx, PostgresURL(addr))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return conn.QueryRow(ctx, sql).Scan(to...)
}

// PooledSpec is Postgres behind PgBouncer in transaction mode.
type PooledSpec struct{}

// Pooled is Postgres behind PgBouncer in transaction mode.
type Pooled struct {
	Server, Pooler *Server
}

// Launch starts both.
func (PooledSpec) Launch(ctx context.Context) (*Pooled, error) {
	s, err := Postgres.Launch(ctx)
	if err != nil {
		return nil, err
	}
	p, err := pgBouncer(s.port(0)).Launch(ctx)
	if err != nil {
		_ = s.Close(ctx) // the other error says what is wrong
		return nil, err
	}
	return &Pooled{Server: s, Pooler: p}, nil
}

// Addrs returns the address of the pooler.
func (p *Pooled) Addrs() []string { return p.Pooler.Addrs() }

// Close removes both.
func (p *Pooled) Close(ctx context.Context) error { return group{p.Server, p.Pooler}.Close(ctx) }

// pgBouncer returns a Spec for a pooler of the server at port.
func pgBouncer(port string) Spec {
	const config, users = "/distlock-pgbouncer.ini", "/distlock-users.txt"
	return Spec{
		Name:  "pgbouncer:1",
		Image: Image{Local: "pgbouncer:1"},
		Command: func([]int) []string {
			return []string{"setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "pgbouncer", config}
		},
		Files: func(ports []int) map[string]string {
			return map[string]string{
				users: fmt.Sprintf("%q %q\n", postgresUser, postgresPassword),
				config: fmt.Sprintf(`[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = %s
listen_port = %d
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %s
pool_mode = transaction
`, host, port, host, ports[0], users),
			}
		},
		Ready: postgresReady,
	}
}
