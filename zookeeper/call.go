package zookeeper

import (
	"context"

	"github.com/distlock-go/distlock/internal/clock"
)

// now is elapsed time, also while the machine sleeps.
var now = clock.System()

type result[T any] struct {
	value T
	err   error
}

// call runs f, a request of the client library's, which knows no context. When
// ctx or the session ends first, f goes on by itself until its connection ends
// and its result is lost.
func call[T any](ctx context.Context, s *session, f func() (T, error)) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	select {
	case r := <-start(f):
		return r.value, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	case <-s.over:
		return none, s.why()
	}
}

// start runs f in a goroutine, which ends with the answer, with the connection, or
// with the session.
func start[T any](f func() (T, error)) <-chan result[T] {
	done := make(chan result[T], 1)
	go func() {
		v, err := f()
		done <- result[T]{v, err}
	}()
	return done
}

// retry is call for requests that may be sent twice: it does so until there is
// an answer.
func retry[T any](ctx context.Context, s *session, f func() (T, error)) (T, error) {
	v, err := call(ctx, s, f)
	for isBroken(err) && ctx.Err() == nil {
		v, err = call(ctx, s, f)
	}
	return v, s.judge(err)
}

// judge makes of an error what the contract says, and ends the session if it
// is gone.
func (s *session) judge(err error) error {
	switch {
	case err == nil:
		return nil
	case isExpired(err):
		s.expire()
		return s.why()
	}
	return err
}
