package postgres

import (
	"context"

	"github.com/distlock-go/distlock"
	"github.com/jackc/pgx/v5"
)

// probes is how often refusePooler looks: other clients of the pooler can get in
// between and hide it.
const probes = 10

// refusePooler refuses a connection that reaches another server process with
// each transaction: locks would stay behind in one of them. A pooler shows in
// that it makes up the process id that a connection is told at its start. With
// one in between, a second connection begins a transaction. If it is in the
// process that the first one was in, or if that is then in another, the first
// one has none of its own. A pooler in session mode is let through.
func (b *Backend) refusePooler(ctx context.Context, conn *pgx.Conn, pid uint32) error {
	if pid == conn.PgConn().PID() {
		return nil
	}
	other, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer hangUp(other)
	for range probes {
		shared, err := sharesProcess(ctx, conn, other)
		if err != nil {
			return err
		}
		if shared {
			return errPooler
		}
	}
	return nil
}

// sharesProcess reports whether conn is found to have no process of its own while
// other is in a transaction. Conn goes first: what was used last is what most
// poolers hand out next.
func sharesProcess(ctx context.Context, conn, other *pgx.Conn) (bool, error) {
	before, err := backendPID(ctx, conn)
	if err != nil {
		return false, err
	}
	if err := other.PgConn().Exec(ctx, "BEGIN").Close(); err != nil {
		return false, err
	}
	its, err := backendPID(ctx, other)
	if err != nil {
		return false, err
	}
	after, err := backendPID(ctx, conn)
	if err != nil {
		return false, err
	}
	return its == before || after != before, other.PgConn().Exec(ctx, "ROLLBACK").Close()
}

var errPooler = distlock.Invalid("connection", "one of a pooler in transaction mode",
	"one to the server or in session mode, as session locks stay with a server process; AcquireTx works there")

// backendPID returns the id of the server process that answers.
func backendPID(ctx context.Context, conn *pgx.Conn) (uint32, error) {
	row, err := ask(ctx, conn, "SELECT pg_backend_pid()")
	if err != nil {
		return 0, err
	}
	return parsePID(row[0])
}
