package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/distlock-go/distlock"
	"github.com/jackc/pgx/v5"
)

// errNoTable says what to do about a missing table.
var errNoTable = errors.New("does not exist: run what pglock.Schema returns, or set Options.CreateTable")

// findTable finds the table of counters, or makes it if it may, and checks that
// its rows survive a crash and that the user can write them.
func (b *Backend) findTable(ctx context.Context, conn *pgx.Conn) error {
	err := b.checkTable(ctx, conn)
	if !errors.Is(err, errNoTable) || !b.opts.CreateTable {
		return err
	}
	if err := b.createTable(ctx, conn); err != nil {
		return fmt.Errorf("create table %s: %w", b.opts.table(), err)
	}
	return b.checkTable(ctx, conn)
}

const tableFacts = `SELECT c.relkind = 'r' AND c.relpersistence = 'p', concat_ws(', ',
	CASE WHEN NOT has_schema_privilege(n.oid, 'USAGE') THEN 'USAGE on its schema' END,
	CASE WHEN NOT has_table_privilege(c.oid, 'SELECT') THEN 'SELECT' END,
	CASE WHEN NOT has_table_privilege(c.oid, 'INSERT') THEN 'INSERT' END,
	CASE WHEN NOT has_table_privilege(c.oid, 'UPDATE') THEN 'UPDATE' END), current_user
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = $1 AND c.relname = $2`

func (b *Backend) checkTable(ctx context.Context, conn *pgx.Conn) error {
	facts, err := ask(ctx, conn, tableFacts, b.opts.Schema, b.opts.Table)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("table %s %w", b.opts.table(), errNoTable)
	case err != nil:
		return err
	case facts[0] != "t":
		return fmt.Errorf("%s is not an ordinary, logged table: tokens would not last", b.opts.table())
	case facts[1] != "":
		return fmt.Errorf("table %s: user %q lacks %s", b.opts.table(), facts[2], facts[1])
	}
	return nil
}

// createTable runs the migration. Clients that start together wait for each
// other, as CREATE TABLE IF NOT EXISTS fails in one of two that race.
func (b *Backend) createTable(ctx context.Context, conn *pgx.Conn) error {
	sql := b.opts.in(tableSQL)
	_, err := ask(ctx, conn, "SELECT 1 FROM pg_namespace WHERE nspname = $1", b.opts.Schema)
	if errors.Is(err, pgx.ErrNoRows) {
		sql = b.opts.createSchema() + sql
	} else if err != nil {
		return err
	}
	id := ID("distlock migration", b.opts.table())
	// One simple query of several statements is one transaction.
	return conn.PgConn().Exec(ctx, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d);\n%s", id, strings.TrimSpace(sql))).Close()
}

// prepare prepares the statements of a lock connection.
func (b *Backend) prepare(ctx context.Context, conn *pgx.Conn) error {
	for _, s := range []struct{ name, sql string }{
		{acquireName, b.opts.in(acquireSQL)},
		{settleName, b.opts.in(settleSQL)},
		{releaseName, releaseSQL},
		{beatName, beatSQL},
		{brokenName, b.opts.in(brokenSQL)},
	} {
		if _, err := conn.PgConn().Prepare(ctx, s.name, s.sql, nil); err != nil {
			return fmt.Errorf("prepare %s: %w", s.name, err)
		}
	}
	return nil
}

// probe takes a lock with its counter, and takes both back.
func (b *Backend) probe(ctx context.Context, conn *pgx.Conn) error {
	c := newCall(acquire, ID("distlock ping", distlock.NewOwner().Text()))
	c.key = "ping"
	s := steps([]*call{c})[0]
	pg := conn.PgConn()
	err := pg.Exec(ctx, "BEGIN").Close()
	if err == nil {
		err = pg.ExecPrepared(ctx, acquireName, s.arguments(b.opts.Namespace), binaryFormat, binaryFormat).Read().Err
	}
	if err == nil {
		err = pg.ExecPrepared(ctx, settleName, s.arguments("")[:1], binaryFormat, binaryFormat).Read().Err
	}
	if err == nil {
		err = pg.Exec(ctx, "ROLLBACK").Close()
	}
	if err == nil {
		err = pg.ExecPrepared(ctx, releaseName, s.arguments("")[:1], binaryFormat, binaryFormat).Read().Err
	}
	return err
}
