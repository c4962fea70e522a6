package sqlfence_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/sqlfence"
)

func TestMeaning(t *testing.T) {
	onLevels(t, every, anyLevel, func(b *bench, level sql.IsolationLevel) {
		f := b.fence("test")
		for _, step := range []struct {
			key   string
			token distlock.Token
			want  error
			mark  int64
		}{
			{"k", 0, distlock.ErrInvalid, 0},
			{"k", 5, nil, 5},
			{"k", 5, nil, 5},
			{"k", 4, distlock.ErrStale, 5},
			{"other", 1, nil, 1},
			{"k", 7, nil, 7},
			{"k", 5, distlock.ErrStale, 7},
			{"k", math.MaxInt64 + 1, distlock.ErrInvalid, 7},
			{"k", math.MaxInt64, nil, math.MaxInt64},
			{"k", math.MaxInt64 - 1, distlock.ErrStale, math.MaxInt64},
		} {
			for name, check := range map[string]func(*sql.Tx) error{
				"Advance": func(tx *sql.Tx) error { return f.Advance(b.ctx, tx, step.key, step.token) },
				"Check":   func(tx *sql.Tx) error { return f.Check(b.ctx, tx, step.key, step.token) },
			} {
				b.is(fmt.Sprintf("%s(%q, %v)", name, step.key, step.token), b.in(level, check), step.want)
			}
			b.is("AdvanceDB", f.AdvanceDB(b.ctx, b.db, step.key, step.token), step.want)
			if got := b.mark(step.key); got != step.mark {
				b.Errorf("after %v: the mark of %q is %v, want %v", step.token, step.key, got, step.mark)
			}
		}
		err := f.AdvanceDB(b.ctx, b.db, "k", 1)
		want := fmt.Sprintf(`distlock: fence "k" (%v): stale token: 1 is smaller than 9223372036854775807`, b.dialect)
		if err == nil || err.Error() != want {
			b.Errorf("got %q, want %q", err, want)
		}
	})
}

// mark returns the mark of key, 0 if there is none.
func (b *bench) mark(key string) (token int64) {
	b.Helper()
	query := b.bind("SELECT token FROM " + b.quoted() + " WHERE lock_key = ?")
	err := b.db.QueryRowContext(b.ctx, query, []byte(key)).Scan(&token)
	if b.dialect != sqlfence.MySQL {
		err = b.db.QueryRowContext(b.ctx, query, key).Scan(&token)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		b.Fatal(err)
	}
	return token
}

// What a Check costs, as the package says.
func TestStatements(t *testing.T) {
	onDatabases(t, countsStatements, func(b *bench) {
		f, tx := b.fence("test"), b.begin(sql.LevelRepeatableRead)
		for i, want := range []int{4, 2, 2} {
			before := b.questions(tx)
			b.is("Check", f.Check(b.ctx, tx, "k", distlock.Token(i+1)), nil)
			if got := b.questions(tx) - before - 1; got != want {
				b.Errorf("check %d: %d statements, want %d", i+1, got, want)
			}
		}
	})
}

// countsStatements: the server does, and the driver sends none besides.
func countsStatements(d database) bool { return strings.Contains(d.name, "MySQL") }

// questions counts the statements of tx's connection, with this one.
func (b *bench) questions(tx *sql.Tx) (n int) {
	b.Helper()
	var name string
	if err := tx.QueryRowContext(b.ctx, "SHOW SESSION STATUS LIKE 'Questions'").Scan(&name, &n); err != nil {
		b.Fatal(err)
	}
	return n
}

func TestRolledBackCheckChangesNothing(t *testing.T) {
	onDatabases(t, every, func(b *bench) {
		f := b.fence("test")
		b.is("AdvanceDB", f.AdvanceDB(b.ctx, b.db, "k", 5), nil)
		tx := b.begin(sql.LevelDefault)
		b.is("Check", f.Check(b.ctx, tx, "k", 9), nil)
		tx.Rollback()
		b.is("AdvanceDB", f.AdvanceDB(b.ctx, b.db, "k", 6), nil)
		b.is("AdvanceDB", f.AdvanceDB(b.ctx, b.db, "k", 5), distlock.ErrStale)
	})
}

func TestKeysAreDistinct(t *testing.T) {
	onDatabases(t, every, func(b *bench) {
		f := b.fence("test")
		long := strings.Repeat("k", 511)
		keys := []string{
			"a", "A", "a ", " a", "a\t", "ä", "a\u0308", "Ä", "ß", "ss", "'", `"`, "`", `\`, "%", "a%", "\u00a0", "日本",
			"\U0001F512", long, long + "a", long + "b", "?", "$1", ":a",
		}
		for i, key := range keys { // falling: one that shares a mark is refused
			b.is(fmt.Sprintf("AdvanceDB(%q)", key), f.AdvanceDB(b.ctx, b.db, key, distlock.Token(len(keys)-i)), nil)
		}
	})
}

func TestSources(t *testing.T) {
	onDatabases(t, every, func(b *bench) {
		ours, theirs := b.fence("etcd 'eu' \\ \"1\""), b.fence("redis")
		for _, key := range []string{"a", "b"} {
			b.is("AdvanceDB", theirs.AdvanceDB(b.ctx, b.db, key, 100), nil)
			for _, token := range []distlock.Token{1, 100, 101} {
				err := ours.AdvanceDB(b.ctx, b.db, key, token)
				b.is("another source's mark", err, distlock.ErrSource)
				b.is("another source's mark", err, distlock.ErrInvalid)
				if errors.Is(err, distlock.ErrStale) || b.mark(key) != 100 {
					b.Errorf("got %v, mark %v; want no comparison and no change", err, b.mark(key))
				}
			}
		}
		b.is("Reset", b.in(sql.LevelDefault, func(tx *sql.Tx) error { return ours.Reset(b.ctx, tx, "a") }), nil)
		b.is("after Reset", theirs.AdvanceDB(b.ctx, b.db, "a", 101), distlock.ErrSource)
		b.is("after Reset", ours.AdvanceDB(b.ctx, b.db, "a", 1), nil)
		b.is("a key that was not reset", ours.AdvanceDB(b.ctx, b.db, "b", 1), distlock.ErrSource)
		b.is("ResetAll", b.in(sql.LevelDefault, func(tx *sql.Tx) error {
			n, err := theirs.ResetAll(b.ctx, tx)
			if n != 2 {
				b.Errorf("ResetAll changed %v marks, want 2", n)
			}
			return err
		}), nil)
		b.is("after ResetAll", ours.AdvanceDB(b.ctx, b.db, "a", 2), distlock.ErrSource)
		b.is("after ResetAll", theirs.AdvanceDB(b.ctx, b.db, "b", 1), nil)
		b.is("Reset", b.in(sql.LevelDefault, func(tx *sql.Tx) error { return ours.Reset(b.ctx, tx, "new") }), nil)
		b.is("a new key that was reset", theirs.AdvanceDB(b.ctx, b.db, "new", 1), distlock.ErrSource)
	})
}
