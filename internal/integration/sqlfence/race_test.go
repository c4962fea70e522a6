package sqlfence_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/sqlfence"
)

// An earlier holder's write that was checked before the take-over is either seen
// by what the new holder reads, or makes it start again: at every level.
func TestTakeOverSeesEarlierWrites(t *testing.T) {
	onLevels(t, server, anyLevel, func(b *bench, level sql.IsolationLevel) {
		for name, token := range map[string]distlock.Token{"new": 6, "equal": 5} {
			f, key := b.fence("test"), name
			id := int(token)
			b.is("set-up", b.in(level, func(tx *sql.Tx) error {
				b.exec(tx, "INSERT INTO "+b.accounts+" VALUES (?, 100, 0)", id)
				return f.Advance(b.ctx, tx, key, 5)
			}), nil)
			old := b.begin(level)
			b.is("the old holder's Check", f.Check(b.ctx, old, key, 5), nil)
			b.exec(old, "UPDATE "+b.accounts+" SET balance = 40 WHERE id = ?", id)
			seen := make(chan int, 1)
			done := make(chan error, 1)
			go func() {
				done <- b.in(level, func(tx *sql.Tx) error {
					if err := f.Advance(b.ctx, tx, key, token); err != nil {
						return err
					}
					balance, err := b.balance(tx, id)
					seen <- balance
					return err
				})
			}()
			b.awaitWaiter()
			b.is("the old holder's commit", old.Commit(), nil)
			b.is("the take-over", <-done, nil)
			if got := <-seen; got != 40 {
				b.Errorf("%s token: the new holder reads %v, want the old holder's 40", name, got)
			}
		}
	})
}

func (b *bench) balance(tx *sql.Tx, id int) (n int, err error) {
	err = tx.QueryRowContext(b.ctx, b.bind("SELECT balance FROM "+b.accounts+" WHERE id = ?"), id).Scan(&n)
	return n, err
}

// A late write waits for a take-over that has not committed, and is refused once
// it has; if that is rolled back, it passes.
func TestLateWriteWaitsForTakeOver(t *testing.T) {
	onLevels(t, server, anyLevel, func(b *bench, level sql.IsolationLevel) {
		f := b.fence("test")
		for _, test := range []struct {
			key    string
			end    func(*sql.Tx) error
			exists bool
			want   error
		}{
			{"commit", (*sql.Tx).Commit, true, distlock.ErrStale},
			{"rollback", (*sql.Tx).Rollback, true, nil},
			{"first commit", (*sql.Tx).Commit, false, distlock.ErrStale},
			{"first rollback", (*sql.Tx).Rollback, false, nil},
		} {
			if test.exists {
				b.is("AdvanceDB", f.AdvanceDB(b.ctx, b.db, test.key, 5), nil)
			}
			taker := b.begin(level)
			b.is("the take-over", f.Advance(b.ctx, taker, test.key, 6), nil)
			done := make(chan error, 1)
			go func() {
				done <- b.in(level, func(tx *sql.Tx) error { return f.Check(b.ctx, tx, test.key, 5) })
			}()
			b.awaitWaiter()
			b.is("its end", test.end(taker), nil)
			b.is("the late write after "+test.key, <-done, test.want)
		}
	})
}

// A transaction that has read before the Check is not let go on with a snapshot
// that lacks a checked write.
func TestOldSnapshotIsRefused(t *testing.T) {
	onLevels(t, every, keepsSnapshots, func(b *bench, level sql.IsolationLevel) {
		f := b.fence("test")
		for id, exists := range []bool{true, false} {
			key := fmt.Sprint("exists ", exists)
			b.is("set-up", b.in(sql.LevelDefault, func(tx *sql.Tx) error {
				b.exec(tx, "INSERT INTO "+b.accounts+" VALUES (?, 100, 0)", id)
				if !exists {
					return nil
				}
				return f.Advance(b.ctx, tx, key, 5)
			}), nil)
			tx := b.begin(level)
			if got, err := b.balance(tx, id); got != 100 || err != nil {
				b.Fatalf("got %v, %v", got, err)
			}
			b.is("a write behind its back", b.in(sql.LevelDefault, func(tx *sql.Tx) error {
				b.exec(tx, "UPDATE "+b.accounts+" SET balance = 40 WHERE id = ?", id)
				return f.Check(b.ctx, tx, key, 5)
			}), nil)
			err := f.Check(b.ctx, tx, key, 5)
			b.is(key, err, sqlfence.ErrRetry)
			if errors.Is(err, distlock.ErrStale) || errors.Is(err, distlock.ErrInvalid) {
				b.Errorf("got %v, which is no decision", err)
			}
		}
	})
}

// Holders with tokens in any order add to accounts, as read after the Check, or
// where there are snapshots before it. No addition is lost, and no token is
// written after a larger one.
func TestNoUpdateIsLost(t *testing.T) {
	onLevels(t, every, anyLevel, func(b *bench, level sql.IsolationLevel) {
		const accounts, workers, rounds = 3, 8, 20
		f := b.fence("test")
		for id := range accounts {
			b.is("set-up", b.in(level, func(tx *sql.Tx) error {
				b.exec(tx, "INSERT INTO "+b.accounts+" VALUES (?, 0, 0)", id)
				return nil
			}), nil)
		}
		var added [accounts]int
		var mu sync.Mutex // guards added
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for i := range rounds {
					id, token := rand.IntN(accounts), distlock.Token(i+1+rand.IntN(3))
					early := level != sql.LevelReadCommitted && i%2 == 0
					err := b.in(level, func(tx *sql.Tx) error { return b.add(tx, f, id, token, early) })
					if err == nil {
						mu.Lock()
						added[id]++
						mu.Unlock()
					} else {
						b.is("adding", err, distlock.ErrStale)
					}
				}
			})
		}
		wg.Wait()
		for id, want := range added {
			got, err := b.balance(b.begin(level), id)
			if err != nil || got != want || want == 0 {
				b.Errorf("account %d: %v, %v; want the %v that were added", id, got, err, want)
			}
		}
	})
}

// add adds 1 to an account. It fails the test if a larger token was there before.
func (b *bench) add(tx *sql.Tx, f *sqlfence.Fence, id int, token distlock.Token, early bool) (err error) {
	balance := 0
	if early {
		if balance, err = b.balance(tx, id); err != nil {
			return err
		}
	}
	if err := f.Check(b.ctx, tx, fmt.Sprint("account ", id), token); err != nil {
		return err
	}
	if !early {
		if balance, err = b.balance(tx, id); err != nil {
			return err
		}
	}
	result, err := tx.ExecContext(b.ctx, b.bind("UPDATE "+b.accounts+
		" SET balance = ?, token = ? WHERE id = ? AND token <= ?"), balance+1, int64(token), id, int64(token))
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); n != 1 || err != nil {
		return fmt.Errorf("token %v was written after a larger one (%v)", token, err)
	}
	return nil
}

// Transactions that check two keys each, in opposite orders, block each other:
// one of them is told to begin again, and both get through.
func TestDeadlock(t *testing.T) {
	onLevels(t, server, anyLevel, func(b *bench, level sql.IsolationLevel) {
		f := b.fence("test")
		for _, key := range []string{"a", "b"} {
			b.is("AdvanceDB", f.AdvanceDB(b.ctx, b.db, key, 1), nil)
		}
		one, two := b.begin(level), b.begin(level)
		b.is("Check", f.Check(b.ctx, one, "a", 1), nil)
		b.is("Check", f.Check(b.ctx, two, "b", 1), nil)
		done := make(chan error, 2)
		cross := func(tx *sql.Tx, key string) {
			err := f.Check(b.ctx, tx, key, 1)
			tx.Rollback() // whatever it is, so that the other one goes on
			done <- err
		}
		go cross(one, "b")
		go cross(two, "a")
		errs := []error{<-done, <-done}
		for _, err := range errs {
			if err != nil {
				b.is("the loser", err, sqlfence.ErrRetry)
			}
		}
		if errors.Join(errs...) == nil {
			b.Error("both went through, though each had what the other wanted")
		}
	})
}

func TestLockTimeoutIsRetryable(t *testing.T) {
	onDatabases(t, every, func(b *bench) {
		f := b.fence("test")
		holder := b.begin(sql.LevelDefault)
		b.is("Check", f.Check(b.ctx, holder, "k", 1), nil)
		conn, err := b.db.Conn(b.ctx)
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		set := map[sqlfence.Dialect]string{
			sqlfence.Postgres: "SET lock_timeout = '50ms'",
			sqlfence.MySQL:    "SET innodb_lock_wait_timeout = 1",
			sqlfence.SQLite:   "PRAGMA busy_timeout = 50",
		}[b.dialect]
		if _, err := conn.ExecContext(b.ctx, set); err != nil {
			b.Fatal(err)
		}
		tx, err := conn.BeginTx(b.ctx, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer tx.Rollback()
		b.is("Check", f.Check(b.ctx, tx, "k", 1), sqlfence.ErrRetry)
	})
}

// First checks of many keys at a time do not fail each other.
func TestFirstTakeOvers(t *testing.T) {
	onDatabases(t, every, func(b *bench) {
		f := b.fence("test")
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				b.is("AdvanceDB", f.AdvanceDB(b.ctx, b.db, fmt.Sprint("key ", i/2), distlock.Token(1)), nil)
			})
		}
		wg.Wait()
	})
}
