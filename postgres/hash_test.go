package postgres_test

import (
	"fmt"
	"testing"

	pglock "github.com/distlock-go/distlock/postgres"
)

// golden are numbers that must never change: other programs, and older versions
// of this one, lock by them.
var golden = []struct {
	namespace, key string
	id             int64
}{
	{"distlock", "a", -7511418246327373042},
	{"distlock", "invoice-77", -7363445738822770362},
	{"distlock", "schlüssel/鍵", 5619532972849584503},
	{"app", "invoice-77", 8129303969329168482},
	{"app", "invoice-77 ", 4320914459929879141},
	{"a", "pp", 7206213403319585671},
	{"ap", "p", 8518819006848521083},
}

func TestGoldenIDs(t *testing.T) {
	for _, g := range golden {
		if got := pglock.ID(g.namespace, g.key); got != g.id {
			t.Errorf("ID(%q, %q): got %d, want %d", g.namespace, g.key, got, g.id)
		}
	}
}

// The formula in the documentation of ID gives the same numbers.
func TestIDsInSQL(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	for _, g := range golden {
		var id int64
		err := pool.QueryRow(t.Context(), `SELECT ('x' || encode(substr(sha256(convert_to($1, 'UTF8') ||
			'\x00'::bytea || convert_to($2, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint`, g.namespace, g.key).Scan(&id)
		if err != nil || id != g.id {
			t.Errorf("the server's number of %q in %q: got %d, %v, want %d", g.key, g.namespace, id, err, g.id)
		}
	}
}

func TestAMillionIDs(t *testing.T) {
	seen := make(map[int64]struct{}, 1_000_000)
	for i := range 1_000_000 {
		seen[pglock.ID("distlock", fmt.Sprintf("order/%d", i))] = struct{}{}
	}
	if len(seen) != 1_000_000 {
		t.Errorf("%d of a million keys have a number of their own", len(seen))
	}
}
