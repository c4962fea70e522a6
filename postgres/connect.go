package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/jackc/pgx/v5"
)

// The prepared statements of a lock connection.
const (
	acquireName = "distlock_acquire"
	settleName  = "distlock_settle"
	releaseName = "distlock_release"
	beatName    = "distlock_beat"
	brokenName  = "distlock_broken"
)

var (
	//go:embed sql/acquire.sql
	acquireSQL string
	//go:embed sql/settle.sql
	settleSQL string
	//go:embed sql/release.sql
	releaseSQL string
	//go:embed sql/beat.sql
	beatSQL string
	//go:embed sql/broken.sql
	brokenSQL string
)

// connect makes a connection for locks: one of its own, to a server that will
// do, with its settings made and its statements prepared. Pid is the process of
// the server behind it.
func (b *Backend) connect(ctx context.Context, t distlock.Terms) (conn *pgx.Conn, pid uint32, err error) {
	if conn, err = b.dial(ctx); err != nil {
		return nil, 0, fmt.Errorf("connect outside the pool: %w", err)
	}
	defer func() {
		if err != nil {
			hangUp(conn)
			conn = nil
		}
	}()
	if pid, err = b.examine(ctx, conn); err != nil {
		return conn, 0, err
	}
	for _, step := range []func() error{
		func() error { return b.refusePooler(ctx, conn, pid) },
		func() error { return configure(ctx, conn, t.TTL) },
		func() error { return b.findTable(ctx, conn) },
		func() error { return b.prepare(ctx, conn) },
	} {
		if err = step(); err != nil {
			break
		}
	}
	return conn, pid, err
}

// dial connects as the pool does.
func (b *Backend) dial(ctx context.Context) (*pgx.Conn, error) {
	cfg := b.pool.Config() // a copy
	if cfg.BeforeConnect != nil {
		if err := cfg.BeforeConnect(ctx, cfg.ConnConfig); err != nil {
			return nil, err
		}
	}
	if params := cfg.ConnConfig.RuntimeParams; params["application_name"] == "" {
		params["application_name"] = "distlock"
	}
	conn, err := pgx.ConnectConfig(ctx, cfg.ConnConfig)
	if err == nil && cfg.AfterConnect != nil {
		if err = cfg.AfterConnect(ctx, conn); err != nil {
			hangUp(conn)
		}
	}
	return conn, err
}

// hangUp closes a connection that is of no use.
func hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // what made it of no use is told
}

// ask runs one statement that returns one row, whose columns come as text.
func ask(ctx context.Context, conn *pgx.Conn, sql string, args ...string) ([]string, error) {
	params := make([][]byte, len(args))
	for i, a := range args {
		params[i] = []byte(a)
	}
	r := conn.PgConn().ExecParams(ctx, sql, params, nil, nil, nil).Read()
	if r.Err != nil {
		return nil, r.Err
	}
	if len(r.Rows) == 0 {
		return nil, pgx.ErrNoRows
	}
	row := make([]string, len(r.Rows[0]))
	for i, v := range r.Rows[0] {
		row[i] = string(v)
	}
	return row, nil
}

// oldestVersion is 14, the first with idle_session_timeout.
const oldestVersion = 140000

// examine refuses servers that the backend cannot keep its promises on. It
// returns the id of the server process that answers.
func (b *Backend) examine(ctx context.Context, conn *pgx.Conn) (pid uint32, err error) {
	facts, err := ask(ctx, conn, `SELECT current_setting('server_version_num'), current_setting('server_version'),
		pg_is_in_recovery(), current_setting('server_encoding'), current_setting('fsync'), pg_backend_pid()`)
	if err != nil {
		return 0, err
	}
	number, _ := strconv.Atoi(facts[0]) // 0 is too old
	switch {
	case number < oldestVersion:
		return 0, distlock.Invalid("server version", facts[1], "14 or later")
	case facts[2] != "f":
		return 0, distlock.Invalid("server", "a standby", "the primary, which can write tokens")
	case facts[3] != "UTF8":
		return 0, distlock.Invalid("server encoding", facts[3], "UTF8, as keys are")
	case b.opts.NoAsyncFailover && facts[4] != "on":
		return 0, distlock.Invalid("fsync", facts[4], "on, if tokens are declared durable by NoAsyncFailover")
	}
	return parsePID(facts[5])
}

func parsePID(text string) (uint32, error) {
	pid, err := strconv.ParseUint(text, 10, 32)
	return uint32(pid), err
}
