package postgres

import (
	"context"

	"github.com/distlock-go/distlock"
)

// SettingsOf returns all settings of a lock connection for t.
func SettingsOf(ctx context.Context, b *Backend, t distlock.Terms) (map[string]string, error) {
	conn, _, err := b.connect(ctx, t)
	if err != nil {
		return nil, err
	}
	defer hangUp(conn)
	all := make(map[string]string)
	r := conn.PgConn().ExecParams(ctx, "SELECT name, current_setting(name) FROM pg_settings", nil, nil, nil, nil).Read()
	for _, row := range r.Rows {
		all[string(row[0])] = string(row[1])
	}
	return all, r.Err
}
