package redisreply_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/distlock-go/distlock/internal/redisreply"
	goredis "github.com/redis/go-redis/v9"
)

type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

func TestArgumentsAreCut(t *testing.T) {
	t.Parallel()
	const want = "ERR unknown command 'EVALSHA'"
	whole := answer(want + ", with args beginning with: 'sha' '1' 'key' 'secret' ")
	for _, err := range []error{whole, fmt.Errorf("pipeline: %w", whole)} {
		got := redisreply.Bare(err)
		var reply goredis.Error
		if !errors.As(got, &reply) || errors.Is(got, whole) {
			t.Errorf("got %#v, want a server's error that does not wrap the whole", got)
		}
		if text := got.Error(); text != want && text != "pipeline: "+want {
			t.Errorf("got %q, want %q", text, want)
		}
	}
}

func TestOtherErrorsStay(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		nil, goredis.Nil, io.EOF, answer("NOSCRIPT No matching script"), answer("ERR unknown command 'x'"),
		errors.New("not a server's, with args"),
	} {
		if got := redisreply.Bare(err); got != err {
			t.Errorf("got %v, want %v itself", got, err)
		}
	}
}
