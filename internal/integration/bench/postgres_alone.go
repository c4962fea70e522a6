package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/jackc/pgx/v5"
)

// postgresAlone compares acquire and release without contention with both floors, and
// says what a commit waits for the disk.
func postgresAlone(ctx context.Context, p plan) ([]line, error) {
	proc, err := newPGProcess(ctx, p.addr)
	if err != nil {
		return nil, err
	}
	defer proc.close()
	conn, err := pgx.Connect(ctx, p.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	var a, b, c guard
	ours := func(ctx context.Context) error { return proc.once(ctx, "bench-alone", &a) }
	row, err := against(ctx, p, ours, func(ctx context.Context) error { return proc.rowOnce(ctx, "bench-alone", &b) })
	if err != nil {
		return nil, err
	}
	lock, err := against(ctx, p, ours, func(ctx context.Context) error { return lockOnce(ctx, conn, 1, &c) })
	if err != nil {
		return nil, err
	}
	flush, err := against(ctx, p, commit(conn, "on"), commit(conn, "off"))
	if err != nil {
		return nil, err
	}
	return []line{
		row.line("acquire + release by a committed row").atMost(0.75),
		{Figure: "the same, p99", Unit: nanoseconds, Value: row.a.p99(), Floor: row.b.p99()},
		lock.line("acquire + release by an advisory lock without token"),
		flush.line("(one commit that waits for the disk, by one that does not)"),
	}, nil
}

// commit changes one row.
func commit(conn *pgx.Conn, wait string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := conn.Exec(ctx, `WITH s AS MATERIALIZED (SELECT set_config('synchronous_commit', $1, true) AS v)
			INSERT INTO bench_floor SELECT 'commit', v FROM s ON CONFLICT (key) DO UPDATE SET owner = excluded.owner`, wait)
		return err
	}
}

// A match is two sides that were measured in turns.
type match struct{ a, b record }

func against(ctx context.Context, p plan, a, b func(context.Context) error) (*match, error) {
	var m match
	var means [2]record
	err := interleave(ctx, p, repeat(&means[0], &m.a, a), repeat(&means[1], &m.b, b), &m.a, &m.b)
	return &m, err
}

func (m *match) line(figure string) line { return compared(figure+", p50", &m.a, &m.b) }

// postgresBusy compares them under many goroutines on many keys.
func postgresBusy(ctx context.Context, p plan) ([]line, error) {
	proc, err := newPGProcess(ctx, p.addr)
	if err != nil {
		return nil, err
	}
	defer proc.close()
	var ours, floor record
	err = interleave(ctx, p,
		together(&ours, p.keys, "bench-busy-%d", proc.once),
		together(&floor, p.keys, "bench-busy-floor-%d", proc.rowOnce),
		&ours, &floor)
	figure := fmt.Sprintf("acquire + release by a committed row, %d goroutines, %d keys", busyWorkers, p.keys)
	return []line{compared(figure, &ours, &floor).atMost(0.5)}, err
}

// postgresHandOver measures the time from one process' release to the grant of another
// that waits, beside the same in sequence.
func postgresHandOver(ctx context.Context, p plan) ([]line, error) {
	holder, err := newPGProcess(ctx, p.addr)
	if err != nil {
		return nil, err
	}
	defer holder.close()
	refused := make(chan struct{}, 1000)
	waiter, err := newPGProcess(ctx, p.addr, distlock.WithTrace(&distlock.Trace{
		Attempted: func(_ context.Context, i distlock.AttemptInfo) {
			if errors.Is(i.Err, distlock.ErrHeld) {
				refused <- struct{}{}
			}
		},
	}))
	if err != nil {
		return nil, err
	}
	defer waiter.close()
	h := &pgHandOver{holder: holder, waiter: waiter, refused: refused}
	var ours, floor record
	err = interleave(ctx, p, h.side(&ours, h.waiting), h.side(&floor, h.inSequence), &ours, &floor)
	return []line{
		compared("across, 1 waiter, p50", &ours, &floor).atMost(1.3),
		{Figure: "across, 1 waiter, p99", Unit: nanoseconds, Value: ours.p99(), Floor: floor.p99()},
	}, err
}

// A pgHandOver hands a key from one process to another.
type pgHandOver struct {
	holder, waiter *pgProcess
	refused        chan struct{} // an attempt of the waiter
	guard          guard
}

// side runs op, which returns how long the hand-over took, for about d.
func (h *pgHandOver) side(r *record, op func(context.Context) (time.Duration, error)) side {
	return func(ctx context.Context, d time.Duration) error {
		var all []float64
		for start := time.Now(); time.Since(start) < d; {
			took, err := op(ctx)
			if err != nil {
				return err
			}
			all = append(all, float64(took))
		}
		r.times(all)
		return nil
	}
}

func (h *pgHandOver) waiting(ctx context.Context) (time.Duration, error) {
	l, err := h.hold(ctx)
	if err != nil {
		return 0, err
	}
	for len(h.refused) > 0 {
		<-h.refused
	}
	type grant struct {
		lease *distlock.Lease
		at    time.Time
		err   error
	}
	got := make(chan grant, 1)
	go func() { // ends with the grant or ctx
		l, err := h.waiter.lock.Acquire(ctx, handOverKey)
		got <- grant{l, time.Now(), err}
	}()
	select {
	case <-h.refused:
	case <-time.After(settleBound):
		return 0, errors.New("the waiter does not wait")
	}
	time.Sleep(hold)
	begin := time.Now()
	if err := errors.Join(h.guard.leave(), l.Release(ctx)); err != nil {
		return 0, err
	}
	g := <-got
	if g.err != nil {
		return 0, g.err
	}
	return g.at.Sub(begin), h.done(ctx, g.lease)
}

// inSequence is one goroutine that needs nobody to tell it.
func (h *pgHandOver) inSequence(ctx context.Context) (time.Duration, error) {
	l, err := h.hold(ctx)
	if err != nil {
		return 0, err
	}
	time.Sleep(hold)
	begin := time.Now()
	if err := errors.Join(h.guard.leave(), l.Release(ctx)); err != nil {
		return 0, err
	}
	next, err := h.waiter.lock.Acquire(ctx, handOverKey)
	took := time.Since(begin)
	if err != nil {
		return 0, err
	}
	return took, h.done(ctx, next)
}

func (h *pgHandOver) hold(ctx context.Context) (*distlock.Lease, error) {
	l, err := h.holder.lock.Acquire(ctx, handOverKey)
	if err != nil {
		return nil, err
	}
	return l, h.guard.enter(l.Token())
}

func (h *pgHandOver) done(ctx context.Context, l *distlock.Lease) error {
	return errors.Join(h.guard.enter(l.Token()), h.guard.leave(), l.Release(ctx))
}
