package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/sqlfence"
)

var dialects = []sqlfence.Dialect{sqlfence.Postgres, sqlfence.MySQL, sqlfence.SQLite}

func TestSchemaQuotes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ table, double, back string }{
		{"", `"distlock_fence"`, "`distlock_fence`"},
		{"app.Marks", `"app"."Marks"`, "`app`.`Marks`"},
		{`a"b`, `"a""b"`, "`a\"b`"},
		{"a`b", "\"a`b\"", "`a``b`"},
		{`x"; DROP TABLE y; --`, `"x""; DROP TABLE y; --"`, "`x\"; DROP TABLE y; --`"},
		{"{table}", `"{table}"`, "`{table}`"},
		{strings.Repeat("é", 31) + "n", `"` + strings.Repeat("é", 31) + `n"`, "`" + strings.Repeat("é", 31) + "n`"},
	} {
		for _, d := range dialects {
			want := test.double
			if d == sqlfence.MySQL {
				want = test.back
			}
			schema := sqlfence.New(d, sqlfence.Options{Source: "s", Table: test.table}).Schema()
			if !strings.HasPrefix(schema, "CREATE TABLE IF NOT EXISTS "+want+" (\n") {
				t.Errorf("%v, table %q: got %s, want %s in it", d, test.table, schema, want)
			}
			if strings.Contains(schema, ";\n") || strings.Contains(schema, "\n--") {
				t.Errorf("%v: more than one statement: %s", d, schema)
			}
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	ctx, tx := context.Background(), new(sql.Tx) // is not reached
	for _, d := range dialects {
		good := sqlfence.New(d, sqlfence.Options{Source: "s"})
		with := func(o sqlfence.Options) error { return sqlfence.New(d, o).Check(ctx, tx, "k", 1) }
		_, all := good.ResetAll(ctx, nil)
		for name, err := range map[string]error{
			"no source":          with(sqlfence.Options{}),
			"control characters": with(sqlfence.Options{Source: "a\nb"}),
			"not ASCII":          with(sqlfence.Options{Source: "ä"}),
			"long source":        with(sqlfence.Options{Source: strings.Repeat("s", 129)}),
			"three parts":        with(sqlfence.Options{Source: "s", Table: "a.b.c"}),
			"empty part":         with(sqlfence.Options{Source: "s", Table: "a."}),
			"NUL in a table":     with(sqlfence.Options{Source: "s", Table: "a\x00"}),
			"long table":         with(sqlfence.Options{Source: "s", Table: strings.Repeat("t", 64)}),
			"token 0":            good.Check(ctx, tx, "k", 0),
			"large token":        good.Advance(ctx, tx, "k", 1<<63),
			"empty key":          good.Check(ctx, tx, "", 1),
			"long key":           good.Check(ctx, tx, strings.Repeat("k", 513), 1),
			"NUL in a key":       good.Check(ctx, tx, "a\x00", 1),
			"key not UTF-8":      good.Reset(ctx, tx, "\xff"),
			"nil transaction":    good.Check(ctx, nil, "k", 1),
			"nil to Reset":       good.Reset(ctx, nil, "k"),
			"nil to ResetAll":    all,
			"nil database":       good.AdvanceDB(ctx, nil, "k", 1),
			"no dialect":         sqlfence.New(0, sqlfence.Options{Source: "s"}).Check(ctx, tx, "k", 1),
			"unknown dialect":    sqlfence.New(4, sqlfence.Options{Source: "s"}).Check(ctx, tx, "k", 1),
		} {
			if !errors.Is(err, distlock.ErrInvalid) || errors.Is(err, distlock.ErrSource) {
				t.Errorf("%v, %s: got %v, want ErrInvalid alone", d, name, err)
			}
		}
	}
}

// As the drivers' errors look.
type (
	pgError     struct{ code string }
	mysqlError  struct{ Number uint16 }
	moderncCode struct{ code int }
	mattnCode   int
	mattnError  struct{ Code mattnCode }
)

func (e *pgError) Error() string     { return "pg" }
func (e *pgError) SQLState() string  { return e.code }
func (e *mysqlError) Error() string  { return "mysql" }
func (e *moderncCode) Error() string { return "modernc" }
func (e *moderncCode) Code() int     { return e.code }
func (e mattnError) Error() string   { return "mattn" }

func TestRetryable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want sqlfence.Dialect // 0: none
	}{
		{nil, 0},
		{errors.New("any"), 0},
		{context.DeadlineExceeded, 0},
		{&pgError{"40001"}, sqlfence.Postgres},
		{&pgError{"40P01"}, sqlfence.Postgres},
		{&pgError{"55P03"}, sqlfence.Postgres},
		{&pgError{"23505"}, 0},
		{&pgError{"57014"}, 0},
		{&pgError{""}, 0},
		{&mysqlError{1213}, sqlfence.MySQL},
		{&mysqlError{1205}, sqlfence.MySQL},
		{&mysqlError{1020}, sqlfence.MySQL},
		{&mysqlError{1062}, 0},
		{&moderncCode{5}, sqlfence.SQLite},
		{&moderncCode{517}, sqlfence.SQLite}, // SQLITE_BUSY_SNAPSHOT
		{&moderncCode{262}, sqlfence.SQLite}, // SQLITE_LOCKED_SHAREDCACHE
		{&moderncCode{19}, 0},
		{mattnError{5}, sqlfence.SQLite},
		{mattnError{11}, 0},
		{&mattnError{6}, sqlfence.SQLite},
		{(*mysqlError)(nil), 0},
	} {
		for _, d := range dialects {
			for _, err := range []error{
				test.err, fmt.Errorf("wrapped: %w", test.err), errors.Join(errors.New("other"), test.err),
			} {
				if got := d.Retryable(err); got != (d == test.want) {
					t.Errorf("%v.Retryable(%#v): got %v", d, err, got)
				}
			}
		}
	}
	for _, d := range dialects {
		if !d.Retryable(fmt.Errorf("x: %w", sqlfence.ErrRetry)) {
			t.Errorf("%v: ErrRetry is not retryable", d)
		}
	}
	if sqlfence.Dialect(0).Retryable(sqlfence.ErrRetry) {
		t.Error("no dialect: nothing is known")
	}
}
