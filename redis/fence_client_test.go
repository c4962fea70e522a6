package redis_test

import (
	"errors"
	"testing"

	"github.com/distlock-go/distlock"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

// A client that does not answer at once, or not for one server, is refused
// before the wire.
func TestFenceClients(t *testing.T) {
	rdb := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:1"})
	defer rdb.Close()
	ring := goredis.NewRing(&goredis.RingOptions{})
	defer ring.Close()
	for name, client := range map[string]redislock.Processor{"pipeline": rdb.Pipeline(), "ring": ring} {
		if err := redislock.NewFence(client, redislock.FenceOptions{Source: "redis"}).Set(t.Context(), "k", 1, "v"); !errors.Is(err, distlock.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
}
