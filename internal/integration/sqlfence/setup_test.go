package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/sqlfence"
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

// A database is one way to reach one kind of database.
type database struct {
	name    string
	dialect sqlfence.Dialect
	driver  string
	dsn     func(t testing.TB) string
	// waiting counts transactions that wait for a lock; empty where none can be seen.
	waiting string
	// levels are those that the driver knows.
	levels []sql.IsolationLevel
}

var serverLevels = []sql.IsolationLevel{
	sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable,
}

const (
	postgresWaiting = `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%%%s%%'`
	// Not innodb_trx: who reads that more than ten times a second sees an old copy of it.
	mariadbWaiting = `SELECT count(*) FROM information_schema.processlist
		WHERE time_ms > 50 AND command IN ('Query', 'Execute') AND info LIKE '%%%s%%'`
)

var databases = []database{
	{"postgres", sqlfence.Postgres, "pgx", env("DISTLOCK_TEST_POSTGRES", ""), postgresWaiting, serverLevels},
	{
		"postgres, simple protocol", sqlfence.Postgres, "pgx",
		env("DISTLOCK_TEST_POSTGRES", "&default_query_exec_mode=simple_protocol"), postgresWaiting, serverLevels,
	},
	{"mariadb", sqlfence.MySQL, "mysql", env("DISTLOCK_TEST_MARIADB", "?innodb_snapshot_isolation=1"), mariadbWaiting, serverLevels},
	// As MySQL and MariaDB before 11.6 are, and with what drivers can be told.
	{
		"mariadb, snapshots as in MySQL", sqlfence.MySQL, "mysql",
		env("DISTLOCK_TEST_MARIADB", "?innodb_snapshot_isolation=0&clientFoundRows=true&interpolateParams=true&charset=latin1"),
		mariadbWaiting, serverLevels,
	},
	{"sqlite", sqlfence.SQLite, "sqlite", file("_pragma=busy_timeout(10000)"), "", []sql.IsolationLevel{sql.LevelDefault}},
	{
		"sqlite, wal", sqlfence.SQLite, "sqlite", file("_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)"), "",
		[]sql.IsolationLevel{sql.LevelDefault},
	},
}

func every(database) bool { return true }

// server: who waits for a lock can be seen. A file of SQLite has one writer at a time.
func server(d database) bool { return d.waiting != "" }

func anyLevel(database, sql.IsolationLevel) bool { return true }

// keepsSnapshots: reads of a transaction see an old state that others can write
// behind. Under READ COMMITTED there is none; elsewhere a read may lock.
func keepsSnapshots(d database, level sql.IsolationLevel) bool {
	locks := level == sql.LevelSerializable && d.dialect == sqlfence.MySQL || d.name == "sqlite"
	return level != sql.LevelReadCommitted && !locks
}

func env(name, options string) func(testing.TB) string {
	return func(t testing.TB) string {
		t.Helper()
		v := os.Getenv(name)
		if v == "" && os.Getenv("DISTLOCK_TEST_REQUIRE") != "" {
			t.Fatalf("%s is not set", name)
		}
		if v == "" {
			t.Skipf("%s is not set: no server to test with (make test starts them)", name)
		}
		return v + options
	}
}

func file(options string) func(testing.TB) string {
	return func(t testing.TB) string { return "file:" + filepath.Join(t.TempDir(), "test.db") + "?" + options }
}

// A bench is a database with a table of marks and one of accounts of a test's own.
type bench struct {
	testing.TB
	database
	db       *sql.DB
	marks    string
	accounts string
	ctx      context.Context
}

// onDatabases runs a test on each database that fits.
func onDatabases(t *testing.T, fits func(database) bool, test func(b *bench)) {
	t.Parallel()
	for _, d := range databases {
		if !fits(d) {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			test(open(t, d))
		})
	}
}

// onLevels runs a test at each isolation level that fits, of each database that does.
func onLevels(
	t *testing.T, fits func(database) bool, at func(database, sql.IsolationLevel) bool, test func(b *bench, level sql.IsolationLevel),
) {
	t.Parallel()
	for _, d := range databases {
		for _, level := range d.levels {
			if !fits(d) || !at(d, level) {
				continue
			}
			t.Run(d.name+"/"+level.String(), func(t *testing.T) {
				t.Parallel()
				test(open(t, d), level)
			})
		}
	}
}

func open(t testing.TB, d database) *bench {
	t.Helper()
	db, err := sql.Open(d.driver, d.dsn(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	tag := fmt.Sprintf("%08x", rand.Uint32())
	b := &bench{TB: t, database: d, db: db, marks: "Marks " + tag, accounts: "accounts_" + tag, ctx: ctx}
	for _, statement := range []string{
		b.fence("test").Schema(),
		b.fence("test").Schema(), // once more changes nothing
		"CREATE TABLE " + b.accounts + " (id int PRIMARY KEY, balance bigint NOT NULL, token bigint NOT NULL)",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	t.Cleanup(func() {
		for _, table := range []string{b.quoted(), b.accounts} {
			if _, err := db.ExecContext(context.WithoutCancel(ctx), "DROP TABLE "+table); err != nil {
				t.Error(err)
			}
		}
	})
	return b
}

// fence returns a fence for tokens of a source.
func (b *bench) fence(source string) *sqlfence.Fence {
	return sqlfence.New(b.dialect, sqlfence.Options{Source: source, Table: b.marks})
}

// quoted is the table of marks as statements have it.
func (b *bench) quoted() string {
	if b.dialect == sqlfence.MySQL {
		return "`" + b.marks + "`"
	}
	return `"` + b.marks + `"`
}

// begin begins a transaction that is rolled back at the end.
func (b *bench) begin(level sql.IsolationLevel) *sql.Tx {
	b.Helper()
	tx, err := b.db.BeginTx(b.ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { tx.Rollback() })
	return tx
}

// in runs fn in a transaction, commits it if fn returns nil, and runs it again
// while the database says so.
func (b *bench) in(level sql.IsolationLevel, fn func(tx *sql.Tx) error) error {
	for {
		tx, err := b.db.BeginTx(b.ctx, &sql.TxOptions{Isolation: level})
		if err == nil {
			if err = fn(tx); err == nil {
				err = tx.Commit()
			}
			tx.Rollback()
		}
		if !b.dialect.Retryable(err) {
			return err
		}
		if b.ctx.Err() != nil {
			return fmt.Errorf("still retrying: %w", err)
		}
	}
}

func (b *bench) is(what string, got, want error) {
	b.Helper()
	if !errors.Is(got, want) {
		b.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func (b *bench) exec(tx *sql.Tx, query string, args ...any) {
	b.Helper()
	if _, err := tx.ExecContext(b.ctx, b.bind(query), args...); err != nil {
		b.Fatalf("%s: %v", query, err)
	}
}

// bind writes the placeholders as the database wants them.
func (b *bench) bind(query string) string {
	if b.dialect != sqlfence.Postgres {
		return query
	}
	for n := 1; strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", fmt.Sprintf("$%d", n), 1)
	}
	return query
}

// awaitWaiter returns when a transaction waits for a lock on the table of marks.
func (b *bench) awaitWaiter() {
	b.Helper()
	for {
		var n int
		if err := b.db.QueryRowContext(b.ctx, fmt.Sprintf(b.waiting, b.marks)).Scan(&n); err != nil {
			b.Fatal(err)
		}
		if n > 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
