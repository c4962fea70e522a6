package faults_test

import (
	"strconv"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
)

// info returns a number that the server tells of itself.
func info(t testing.TB, rdb *goredis.Client, section, field string) int64 {
	t.Helper()
	text, err := rdb.Info(t.Context(), section).Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("INFO %s has no %s", section, field)
	return 0
}

// commands returns how many commands the server has executed, those within scripts
// included.
func commands(t testing.TB, rdb *goredis.Client) int64 {
	t.Helper()
	return info(t, rdb, "stats", "total_commands_processed")
}
