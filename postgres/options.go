package postgres

import (
	_ "embed"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/distlock-go/distlock"
	"github.com/jackc/pgx/v5"
)

// Where the counters are kept if Options say nothing.
const (
	DefaultSchema = "public"
	DefaultTable  = "distlock_tokens"
)

// Options change defaults. All who share keys must have the same Namespace,
// Schema and Table: with other counters the tokens of a key do not follow each
// other.
type Options struct {
	// Namespace keeps locks of different applications in one database apart. It
	// goes into the hash of every key. Default DefaultNamespace. Up to 128 bytes of UTF-8
	// without NUL.
	Namespace string
	// Schema and Table name the table of counters, as they are: quoted, so that
	// upper case letters and spaces stay. Defaults: DefaultSchema and DefaultTable.
	// Each up to 63 bytes of UTF-8 without NUL.
	Schema string
	Table  string
	// CreateTable lets the backend create the table, and its schema, where they
	// are missing, by what the function Schema returns. The user needs the rights
	// for that, once. Without it a missing table is an error.
	CreateTable bool
	// NoAsyncFailover declares that no standby can take over that lacks a
	// commit that the primary has confirmed: there is none that is promoted, or
	// synchronous_standby_names makes the primary wait for it. Then tokens are
	// distlock.FencingDurable; without it, distlock.FencingBestEffort. A server
	// with fsync off, for which it cannot be true, is then refused.
	NoAsyncFailover bool
}

// withDefaults returns what o means. Nil is all defaults.
func (o *Options) withDefaults() Options {
	var all Options
	if o != nil {
		all = *o
	}
	for _, f := range []struct {
		field *string
		value string
	}{{&all.Namespace, DefaultNamespace}, {&all.Schema, DefaultSchema}, {&all.Table, DefaultTable}} {
		if *f.field == "" {
			*f.field = f.value
		}
	}
	return all
}

// check returns an error that matches distlock.ErrInvalid if o is not usable.
func (o *Options) check() error {
	if err := checkNamespace(o.Namespace); err != nil {
		return err
	}
	if err := checkName("schema", o.Schema); err != nil {
		return err
	}
	return checkName("table", o.Table)
}

func checkNamespace(ns string) error {
	if len(ns) > 128 || !isText(ns) {
		return distlock.Invalid("namespace", strconv.Quote(ns), "up to 128 bytes of UTF-8 without NUL")
	}
	return nil
}

// checkName refuses what the server would cut off or not take at all.
func checkName(what, name string) error {
	if len(name) > 63 || !isText(name) {
		return distlock.Invalid(what, strconv.Quote(name), "up to 63 bytes of UTF-8 without NUL")
	}
	return nil
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// table is the quoted name.
func (o *Options) table() string { return pgx.Identifier{o.Schema, o.Table}.Sanitize() }

// in puts the table's name into a statement.
func (o *Options) in(statement string) string {
	return strings.ReplaceAll(statement, "{{table}}", o.table())
}

//go:embed sql/table.sql
var tableSQL string

// Schema returns the migration that makes the table of counters, as SQL that
// may be run again and again. Nil options are all defaults. A schema other than
// DefaultSchema is created too, for which PostgreSQL asks for the CREATE right
// on the database even if it is there. Options that New would refuse give a
// migration that the server refuses.
//
// Who uses the backend needs USAGE on the schema and SELECT, INSERT and UPDATE
// on the table.
func Schema(o *Options) string {
	all := o.withDefaults()
	return all.createSchema() + all.in(tableSQL)
}

// createSchema is the statement for the schema, or nothing.
func (o *Options) createSchema() string {
	if o.Schema == DefaultSchema {
		return ""
	}
	return "CREATE SCHEMA IF NOT EXISTS " + pgx.Identifier{o.Schema}.Sanitize() + ";\n"
}
