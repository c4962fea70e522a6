package postgres

import (
	"cmp"
	"context"

	"github.com/distlock-go/distlock"
	"github.com/jackc/pgx/v5"
)

// refusePooler refuses a connection that reaches another server process with
// each transaction: locks would stay behind in one of them. A pooler shows in
// that it makes up the process id that a connection is told at its start. With
// one in between, a second connection occupies the process that the first has
// just used: one that then finds itself in another process has none of its own.
// A pooler in session mode is let through.
func (b *Backend) refusePooler(ctx context.Context, conn *pgx.Conn, pid uint32) error {
	if pid == conn.PgConn().PID() {
		return nil
	}
	other, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer hangUp(other)
	for range 3 { // poolers hand out what was used last, or first, or any
		if again, err := whileOccupied(ctx, conn, other); err != nil || again != pid {
			return cmp.Or(err, errPooler)
		}
	}
	return nil
}

// whileOccupied is the process of conn while other is in a transaction.
func whileOccupied(ctx context.Context, conn, other *pgx.Conn) (uint32, error) {
	if err := other.PgConn().Exec(ctx, "BEGIN; "+beatSQL).Close(); err != nil {
		return 0, err
	}
	pid, err := backendPID(ctx, conn)
	return pid, cmp.Or(err, other.PgConn().Exec(ctx, "ROLLBACK").Close())
}

var errPooler = distlock.Invalid("connection", "one of a pooler in transaction mode",
	"one to the server or in session mode, as session locks stay with a server process; AcquireTx works there")

// backendPID returns the id of the server process that answers.
func backendPID(ctx context.Context, conn *pgx.Conn) (uint32, error) {
	row, err := ask(ctx, conn, beatSQL)
	if err != nil {
		return 0, err
	}
	return parsePID(row[0])
}
