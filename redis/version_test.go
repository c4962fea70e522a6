package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/redisreply"
	goredis "github.com/redis/go-redis/v9"
)

func TestLearn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		info, delete string
		setIfEq      bool
		old          bool
	}{
		{info: "# Server\r\nredis_version:8.6.3\r\nredis_git:0\r\n", delete: redisreply.Delex, setIfEq: true},
		{info: "redis_version:8.4.0\n", delete: redisreply.Delex, setIfEq: true},
		{info: "redis_version:10.0.0\n", delete: redisreply.Delex, setIfEq: true},
		{info: "redis_version:8.0.2\r\n"},
		{info: "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\n"},
		{info: "redis_version:7.2.4\r\nvalkey_version:8.1.0\r\n", setIfEq: true},
		{info: "redis_version:7.2.4\r\nvalkey_version:9.1.0\r\n", delete: redisreply.Delifeq, setIfEq: true},
		{info: "redis_version:7.0.0\n"},
		{info: "redis_version:6.2.14\n", old: true},
		{info: "redis_version:unstable\n", old: true},
		{info: ""},
	} {
		var s server
		if err := s.learn(c.info); c.old != errors.Is(err, distlock.ErrInvalid) || c.old != (err != nil) {
			t.Errorf("%q: got %v, want too old: %v", c.info, err, c.old)
		}
		name := ""
		if p := s.delete.Load(); p != nil {
			name = *p
		}
		if name != c.delete || s.setIfEq.Load() != c.setIfEq || s.known.Load() == c.old {
			t.Errorf("%q: got %q, %v, want %q, %v", c.info, name, s.setIfEq.Load(), c.delete, c.setIfEq)
		}
	}
}

type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

func TestCertainErrors(t *testing.T) {
	t.Parallel()
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	read := &net.OpError{Op: "read", Err: errors.New("reset")}
	for _, c := range []struct {
		err     error
		certain bool
	}{
		{answer("OOM command not allowed"), true},
		{answer("READONLY You can't write"), true},
		{fmt.Errorf("wrapped: %w", answer("NOAUTH")), true},
		{dial, true},
		{goredis.ErrPoolTimeout, true},
		{goredis.ErrClosed, true},
		{read, false},
		{io.EOF, false},
		{context.DeadlineExceeded, false},
		{context.Canceled, false},
	} {
		got := certain(c.err)
		if isMarked := got != c.err; isMarked != c.certain || !errors.Is(got, c.err) {
			t.Errorf("%v: marked as certain: %v, want %v", c.err, isMarked, c.certain)
		}
	}
}
