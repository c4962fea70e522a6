package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/pause"
	"github.com/distlock-go/distlock/internal/round"
	"github.com/jackc/pgx/v5"
)

var (
	//go:embed sql/break.sql
	breakSQL string
	//go:embed sql/terminate.sql
	terminateSQL string
)

// letGoBound is how long a holder has to let go of a lock that is broken: more than
// a third of the default TTL.
const letGoBound = 15 * time.Second

// Break notes in the key's row, if that has token t, that its holder is to let go. An
// advisory lock can be freed by its own connection only. So the holder's client does
// that, of this lock alone and once its lease has ended, at its next renewal, which
// is at a third of its TTL; and Break waits for it. If it has not within 15 s, Break
// ends its connection: all other leases of that client with the same TTL and
// lock-delay are lost too. That needs the right pg_signal_backend, or to be the same
// role. So give it a ctx of half a minute. One that ends before leaves the holder what
// it has; ask again then.
//
// The lock-delay is noted in the row with it. It begins with the first attempt after
// the lock is free, also after a release that was faster than the Break.
func (b *Backend) Break(ctx context.Context, key string, t distlock.Token, delay time.Duration) error {
	conn, err := b.visit(ctx)
	if err != nil {
		return err
	}
	defer hangUp(conn)
	id := ID(b.opts.Namespace, key)
	h, err := b.present(ctx, conn, id)
	if err == nil {
		err = distlock.CheckPresent(h.token, t)
	}
	if err != nil {
		return err
	}
	text := strconv.FormatInt(id, 10)
	_, err = ask(ctx, conn, b.opts.in(breakSQL), text, t.String(),
		strconv.FormatInt(h.pid, 10), strconv.FormatInt(round.Up(delay, time.Millisecond).Milliseconds(), 10))
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("%w: it has just been followed", distlock.ErrStale)
	case err != nil:
		return err
	}
	return b.evict(ctx, conn, id, h)
}

// evict rings for the connection that h is of until it has let go of the lock, and
// ends it in the end.
func (b *Backend) evict(ctx context.Context, conn *pgx.Conn, id int64, h counter) error {
	ring := fmt.Sprintf("BEGIN; SELECT pg_advisory_xact_lock_shared(%d)", bell(h.pid))
	if err := conn.PgConn().Exec(ctx, ring).Close(); err != nil {
		return err
	}
	for begun := time.Now(); ; {
		still, err := b.has(ctx, conn, id, h)
		switch {
		case err != nil || !still:
			return err
		case time.Since(begun) > letGoBound:
			_, err = ask(ctx, conn, b.opts.in(terminateSQL), strconv.FormatInt(id, 10), h.token.String())
			if err != nil && !errors.Is(err, pgx.ErrNoRows) {
				return fmt.Errorf("end the holder's connection: %w", err)
			}
		}
		if err := pause.For(ctx, askAgain); err != nil {
			return err
		}
	}
}

// has reports whether h has the lock still.
func (b *Backend) has(ctx context.Context, conn *pgx.Conn, id int64, h counter) (bool, error) {
	now, err := b.holder(ctx, conn, id)
	if err != nil || now.pid != h.pid {
		return false, err
	}
	c, err := b.counter(ctx, conn, id)
	return c.broken && c.token == h.token && c.pid == h.pid, err
}
