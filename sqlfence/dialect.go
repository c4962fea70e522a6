package sqlfence

import (
	"database/sql"
	"embed"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Dialect is the SQL that one kind of database understands. The zero value is
// none.
type Dialect int

// The dialects.
const (
	// Postgres is for PostgreSQL 9.5 and later.
	Postgres Dialect = iota + 1
	// MySQL is for MySQL and MariaDB, with InnoDB.
	MySQL
	// SQLite is for SQLite 3.24 and later.
	SQLite
)

// String returns "postgres", "mysql" or "sqlite".
func (d Dialect) String() string {
	if !d.known() {
		return "Dialect(" + strconv.Itoa(int(d)) + ")"
	}
	return traits[d].name
}

func (d Dialect) known() bool { return d >= Postgres && d <= SQLite }

// traits are in what dialects differ besides their statements.
var traits = [...]struct {
	name      string
	quote     string // around an identifier
	maxIdent  int    // bytes: Postgres cuts longer ones short, others refuse them
	retryable func(error) bool
	// advanceBy is the isolation of AdvanceDB after a lost race: where there is a choice,
	// one that waits for a writer before it, instead of failing on what that has changed.
	advanceBy sql.IsolationLevel
}{
	Postgres: {"postgres", `"`, 63, retryPostgres, sql.LevelReadCommitted},
	MySQL:    {"mysql", "`", 63, retryMySQL, sql.LevelReadCommitted},
	SQLite:   {"sqlite", `"`, 63, retrySQLite, sql.LevelDefault},
}

//go:embed sql
var files embed.FS

// statements returns what the dialect's file has, by the names in its "--: "
// lines, for a table. Comments are left out.
func (d Dialect) statements(table string) map[string]string {
	text, err := files.ReadFile("sql/" + d.String() + ".sql")
	if err != nil {
		panic(err) // not for any dialect that is known: a test reads them all
	}
	all := make(map[string]string)
	for section := range strings.SplitSeq(string(text), "--: ") {
		name, body, _ := strings.Cut(section, "\n")
		var lines []string
		for line := range strings.SplitSeq(body, "\n") {
			if line != "" && !strings.HasPrefix(line, "--") {
				lines = append(lines, line)
			}
		}
		all[name] = strings.ReplaceAll(strings.Join(lines, "\n"), "{table}", table)
	}
	return all
}

// ident quotes name, or both parts of "schema.name".
func (d Dialect) ident(name string) (string, error) {
	q := traits[d].quote
	parts := strings.Split(name, ".")
	for i, p := range parts {
		if p == "" || len(p) > traits[d].maxIdent || len(parts) > 2 || !utf8.ValidString(p) || strings.ContainsRune(p, 0) {
			return "", fmt.Errorf("up to 2 parts with a dot between, each of 1 to %d bytes of UTF-8 without NUL", traits[d].maxIdent)
		}
		parts[i] = q + strings.ReplaceAll(p, q, q+q) + q
	}
	return strings.Join(parts, "."), nil
}
