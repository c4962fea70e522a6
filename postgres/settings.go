package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/distlock-go/distlock/internal/round"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A setting is one of the server's, for a session.
type setting struct{ name, value string }

// settings are those of a lock connection. None needs a right.
//   - The server ends the connection after one TTL without a sign of life, and
//     sooner if what it sends is not acknowledged.
//   - Nothing of the role's or the database's own settings ends a statement,
//     gives it an old snapshot or another function of the same name, leaves a
//     token in memory only, or hides the warning that a commit was not waited for.
//   - Statements are planned once.
func settings(ttl time.Duration) []setting {
	ms := strconv.FormatInt(ttl.Milliseconds(), 10)
	third := strconv.Itoa(int(round.Up(ttl, 3*time.Second) / (3 * time.Second))) // rounded up: the server gives up after four
	return []setting{
		{"idle_session_timeout", ms},
		{"idle_in_transaction_session_timeout", ms},
		{"tcp_user_timeout", ms},
		{"tcp_keepalives_idle", third},
		{"tcp_keepalives_interval", third},
		{"tcp_keepalives_count", "3"},
		{"statement_timeout", "0"},
		{"lock_timeout", "0"},
		{"default_transaction_isolation", "read committed"},
		{"default_transaction_read_only", "off"},
		{"search_path", "pg_catalog"},
		{"synchronous_commit", "on"},
		{"client_min_messages", "warning"},
		{"plan_cache_mode", "force_generic_plan"},
		{"jit", "off"},
	}
}

// setSQL makes settings. A synchronous_commit that is stricter stays.
const setSQL = `SELECT set_config(name, CASE WHEN value = 'on' AND current_setting(name) = 'remote_apply'
	THEN 'remote_apply' ELSE value END, false)
	FROM unnest(string_to_array($1, ','), string_to_array($2, ',')) AS s (name, value)`

// configure makes the settings of a lock connection.
func configure(ctx context.Context, conn *pgx.Conn, ttl time.Duration) error {
	var names, values []string
	for _, s := range settings(ttl) {
		names, values = append(names, s.name), append(values, s.value)
	}
	if _, err := ask(ctx, conn, setSQL, strings.Join(names, ","), strings.Join(values, ",")); err != nil {
		return fmt.Errorf("settings of the lock connection: %w", err)
	}
	// Looks for the client within a statement too. Not on every platform.
	_, err := ask(ctx, conn, setSQL, "client_connection_check_interval", values[0])
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return nil
	}
	return err
}
