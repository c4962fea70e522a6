package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/pause"
	"github.com/jackc/pgx/v5"
)

var (
	//go:embed sql/holder.sql
	holderSQL string
	//go:embed sql/counter.sql
	counterSQL string
)

var _ distlock.Inspector = (*Backend)(nil)

// Inspect looks who has the lock of key, and then reads the key's row, over a
// connection of its own, as Ping has. The server is the one that grants, and the
// answer as it was at some moment during the call. While the holder's connection is
// in the middle of a grant it asks again, as long as ctx lasts. A lock that is not
// that of the last grant, such as that of AcquireTx or of another program, is
// distlock.ErrForeign. The server tells neither the time left nor who waits, nor a
// lock-delay that nobody has met: then the key looks free.
func (b *Backend) Inspect(ctx context.Context, key string) (distlock.LockInfo, error) {
	conn, err := b.visit(ctx)
	if err != nil {
		return distlock.LockInfo{}, err
	}
	defer hangUp(conn)
	h, err := b.present(ctx, conn, ID(b.opts.Namespace, key))
	if err != nil {
		return distlock.LockInfo{}, err
	}
	return distlock.LockInfo{Held: h.token != 0, Token: h.token, Holder: h.text, Left: -1, Waiters: -1}, nil
}

// visit makes a connection to a server that grants, for a few statements.
func (b *Backend) visit(ctx context.Context) (*pgx.Conn, error) {
	conn, err := b.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect outside the pool: %w", err)
	}
	pid, err := b.examine(ctx, conn)
	if err == nil {
		err = b.refusePooler(ctx, conn, pid) // whose connections are not ours to configure
	}
	if err == nil {
		err = configure(ctx, conn, visitTTL)
	}
	if err != nil {
		hangUp(conn)
		return nil, err
	}
	return conn, nil
}

// visitTTL is what such a connection lives by should its client die.
const visitTTL = 30 * time.Second

// A holder is a server process that has a lock. None has no pid.
type holder struct {
	pid    int64
	inTx   string // the transaction that it is in; "": none
	writes bool   // the table of counters
}

func (b *Backend) holder(ctx context.Context, conn *pgx.Conn, id int64) (h holder, err error) {
	row, err := ask(ctx, conn, holderSQL, strconv.FormatInt(id, 10), b.opts.Schema, b.opts.Table)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return h, nil
	case err != nil:
		return h, err
	}
	if !strings.HasSuffix(row[1], "/0") {
		h.inTx = row[1]
	}
	h.writes = row[2] == "t"
	h.pid, err = strconv.ParseInt(row[0], 10, 64)
	return h, err
}

// A counter is what a key's row tells. The zero value is that of a missing one.
type counter struct {
	token   distlock.Token // of the last grant
	text    string         // its holder's
	pid     int64          // the server process that has taken the lock last
	broken  bool           // that it is asked to let go again
	delayed bool           // a lock-delay has begun after the last grant
}

func (b *Backend) counter(ctx context.Context, conn *pgx.Conn, id int64) (c counter, err error) {
	row, err := ask(ctx, conn, b.opts.in(counterSQL), strconv.FormatInt(id, 10))
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return c, nil
	case err != nil:
		return c, err
	}
	c.text, c.broken, c.delayed = row[1], row[3] == "t", row[4] == "t"
	if c.pid, err = strconv.ParseInt(row[2], 10, 64); err == nil {
		c.token, err = distlock.ParseToken(row[0])
	}
	return c, err
}

const (
	// lookAgain is the pause between two looks at who has a lock.
	lookAgain = 5 * time.Millisecond
	// askAgain is the pause between two looks whether a holder has let go.
	askAgain = 20 * time.Millisecond
)

// present returns the grant that has the lock, or none.
//
// A holder that is in no transaction has committed its grant; so the row, which is
// read after that was seen, has its token, or a later one's, which was granted
// meanwhile. Within a transaction it may be about to write the row, unless that is
// the one that it was in when it was seen before and it still has not locked the
// table. The row of a holder that is certain is another's only if one has followed
// meanwhile; so if the next look finds the same it is no holder of ours.
func (b *Backend) present(ctx context.Context, conn *pgx.Conn, id int64) (counter, error) {
	var before holder
	var seen counter
	for first := true; ; first = false {
		h, err := b.holder(ctx, conn, id)
		if err != nil || h.pid == 0 {
			return counter{}, err
		}
		c, err := b.counter(ctx, conn, id)
		if err != nil || c.delayed {
			return counter{}, err
		}
		certain := h.inTx == "" || h.inTx == before.inTx && !h.writes
		switch {
		case certain && c.pid == h.pid:
			return c, nil
		case certain && !first && c.token == seen.token:
			return counter{}, fmt.Errorf("%w: a transaction or another program has the advisory lock", distlock.ErrForeign)
		}
		before, seen = h, c
		if err := pause.For(ctx, lookAgain); err != nil {
			return counter{}, err
		}
	}
}
