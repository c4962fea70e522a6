package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/redisscript"
	goredis "github.com/redis/go-redis/v9"
)

// counterKept is how long a counter outlives the last grant, or ten TTLs if
// that is longer: until then the server's clock has passed its value, so a
// counter that starts again from the clock is still larger.
const counterKept = 24 * time.Hour

// A session is one client's. On the server it is nothing.
type session struct {
	backend *Backend
	lane    lane
	hub     hub
}

func newSession(b *Backend) *session {
	_, plain := b.client.(*goredis.Client)
	return &session{
		backend: b,
		lane:    lane{client: b.client, single: !plain},
		hub:     newHub(b.client),
	}
}

// rest is the State of a Hold: the lock's value without the owner before it.
type rest string

// TryAcquire runs the acquire script.
func (s *session) TryAcquire(ctx context.Context, r distlock.Request) (distlock.Hold, error) {
	reply, err := s.acquire(ctx, r)
	if isBroken(err) && ctx.Err() == nil { // an idle connection that the server had closed
		if again, err2 := s.acquire(ctx, r); err2 == nil {
			reply, err = again, nil
		}
	}
	if err != nil {
		return distlock.Hold{}, certain(err)
	}
	switch v := reply.(type) {
	case string:
		token, err := distlock.ParseToken(v)
		if err != nil {
			return distlock.Hold{}, fmt.Errorf("acquire script: %w", err)
		}
		rest := rest(" " + v + " " + r.Holder)
		return distlock.Hold{Key: r.Key, Owner: r.Owner, Terms: r.Terms, Token: token, State: rest}, nil
	case int64:
		return distlock.Hold{}, distlock.Held(time.Duration(max(v, 0)) * time.Millisecond)
	}
	return distlock.Hold{}, fmt.Errorf("acquire script: unexpected reply %T", reply)
}

// acquire makes one attempt. One whose caller has left is given back.
func (s *session) acquire(ctx context.Context, r distlock.Request) (any, error) {
	n := s.backend.names(r.Key)
	keep := max(counterKept, 10*r.Terms.TTL)
	keys := []string{n.lock, n.counter}
	args := []any{r.Owner.Text(), r.Holder, millis(r.Terms.Lifetime()), millis(keep)}
	send := func(words []any) (*command, error) {
		cmd := newCommand(context.Background(), words...)
		orphan := func() {
			if _, granted := cmd.Val().(string); granted && cmd.Err() == nil {
				s.giveBack(distlock.Hold{Key: r.Key, Owner: r.Owner})
			}
		}
		return cmd, s.lane.do(ctx, orphan, cmd)
	}
	cmd, err := send(redisscript.Acquire.EvalSHA(keys, args...))
	if isNoScript(err) {
		cmd, err = send(redisscript.Acquire.Eval(keys, args...))
	}
	if err != nil {
		return nil, err
	}
	return cmd.Val(), nil
}

// giveBack releases a grant that came when nobody waited for it any more. The
// core goes on cleaning up in any case; this is for answers that come later
// than that.
func (s *session) giveBack(h distlock.Hold) {
	s.lane.active.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), pipelineBound)
		defer cancel()
		_ = s.Release(ctx, h)
	})
}

// Release deletes the lock and wakes waiters, in one round trip.
func (s *session) Release(ctx context.Context, h distlock.Hold) error {
	n := s.backend.names(h.Key)
	name := s.backend.server.delete.Load()
	if value, ok := value(h); ok && name != nil && !s.lane.single {
		err := s.deleteIfEqual(ctx, *name, n, value)
		if !isUnknown(err) {
			return err
		}
		s.backend.server.delete.Store(nil)
	}
	keys := []string{n.lock, n.channel}
	cmd := newCommand(context.Background(), redisscript.Release.EvalSHA(keys, h.Owner.Text())...)
	err := s.lane.do(ctx, nil, cmd)
	if isNoScript(err) {
		cmd = newCommand(context.Background(), redisscript.Release.Eval(keys, h.Owner.Text())...)
		err = s.lane.do(ctx, nil, cmd)
	}
	return didIt(cmd, err)
}

// value is the lock's whole value under h, unless its grant was never seen.
func value(h distlock.Hold) (string, bool) {
	rest, ok := h.State.(rest)
	return h.Owner.Text() + string(rest), ok
}

// deleteIfEqual releases by the server's own command. The wake-up goes with
// it, also if there was nothing to delete: it is a hint.
func (s *session) deleteIfEqual(ctx context.Context, name string, n names, value string) error {
	var cmd *command
	if name == delex {
		cmd = newCommand(context.Background(), name, n.lock, "ifeq", value)
	} else {
		cmd = newCommand(context.Background(), name, n.lock, value)
	}
	return didIt(cmd, s.lane.do(ctx, nil, cmd, newCommand(context.Background(), "publish", n.channel, "")))
}

// didIt reads an answer of 1 or 0: done, or there was nothing of ours.
func didIt(cmd *command, err error) error {
	if err != nil {
		return err
	}
	if n, err := cmd.Int64(); err != nil {
		return err
	} else if n == 0 {
		return distlock.ErrLost
	}
	return nil
}

// Renew extends holds in one pipeline.
func (s *session) Renew(ctx context.Context, holds []distlock.Hold) []error {
	results := make([]error, len(holds))
	done := make(chan []error, 1)
	s.lane.active.Go(func() { done <- s.renew(ctx, holds) })
	select {
	case results = <-done:
	case <-ctx.Done():
		for i := range results {
			results[i] = ctx.Err()
		}
	}
	return results
}

func (s *session) renew(ctx context.Context, holds []distlock.Hold) []error {
	native := s.backend.server.setIfEq.Load()
	results := s.pipeline(ctx, holds, func(lock, value, ttl string) []any {
		if native {
			return []any{"set", lock, value, "ifeq", value, "px", ttl}
		}
		return redisscript.Renew.EvalSHA([]string{lock}, value, ttl)
	})
	again := make([]distlock.Hold, 0)
	var where []int
	for i, err := range results {
		if isNoScript(err) || isUnknown(err) {
			again, where = append(again, holds[i]), append(where, i)
		}
	}
	if len(again) == 0 {
		return results
	}
	if native {
		s.backend.server.setIfEq.Store(false)
	}
	second := s.pipeline(ctx, again, func(lock, value, ttl string) []any {
		return redisscript.Renew.Eval([]string{lock}, value, ttl)
	})
	for i, err := range second {
		results[where[i]] = err
	}
	return results
}

// pipeline sends one command a hold.
func (s *session) pipeline(ctx context.Context, holds []distlock.Hold, words func(lock, value, ttl string) []any) []error {
	cmds := make([]goredis.Cmder, len(holds))
	for i, h := range holds {
		value, _ := value(h)
		cmds[i] = newCommand(ctx, words(s.backend.names(h.Key).lock, value, millis(h.Terms.Lifetime()))...)
	}
	exec(ctx, s.backend.client, cmds)
	results := make([]error, len(holds))
	for i, cmd := range cmds {
		results[i] = renewed(cmd.(*command))
	}
	return results
}

// renewed reads the answer to a renewal: OK or 1, or nil or 0.
func renewed(cmd *command) error {
	switch v, err := cmd.Result(); {
	case errors.Is(err, goredis.Nil), v == int64(0):
		return distlock.ErrLost
	default:
		return err
	}
}

// Watch listens for wake-ups of key.
func (s *session) Watch(key string, wake func()) (stop func()) {
	return s.hub.watch(s.backend.names(key).channel, wake)
}

// Close waits for what is under way. The core has released every hold.
func (s *session) Close(ctx context.Context) error {
	s.hub.close()
	return promptly(ctx, func() error { s.lane.active.Wait(); return nil })
}

func millis(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Millisecond-1)/time.Millisecond), 10)
}

// certain marks the errors after which nothing can be left: the server's own
// answers, and requests that never left.
func certain(err error) error {
	var answer goredis.Error
	var dial *net.OpError
	switch {
	case errors.Is(err, goredis.Nil):
		return err
	case errors.As(err, &answer),
		errors.Is(err, goredis.ErrPoolTimeout), errors.Is(err, goredis.ErrPoolExhausted),
		errors.As(err, &dial) && dial.Op == "dial":
		return distlock.Refused(err)
	}
	return err
}

// isBroken reports whether a connection turned out to be closed.
func isBroken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		err != nil && strings.Contains(err.Error(), "use of closed network connection")
}
