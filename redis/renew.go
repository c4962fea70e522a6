package redis

import (
	"context"
	"errors"

	"github.com/distlock-go/distlock"
	goredis "github.com/redis/go-redis/v9"
)

// Renew extends holds in one pipeline, beside the session's other calls.
func (s *session) Renew(ctx context.Context, holds []distlock.Hold) []error {
	if len(holds) == 0 {
		return nil
	}
	done := make(chan []error, 1)
	s.lane.active.Go(func() { done <- s.renew(ctx, holds) })
	select {
	case results := <-done:
		return results
	case <-ctx.Done():
	}
	results := make([]error, len(holds))
	for i := range results {
		results[i] = ctx.Err()
	}
	return results
}

// renew sends the batch, and once more what the server did not understand.
func (s *session) renew(ctx context.Context, holds []distlock.Hold) []error {
	how := byName
	if s.backend.server.setIfEq.Load() {
		how = native
	}
	results := s.pipeline(ctx, holds, how)
	var again []distlock.Hold
	var where []int
	for i, err := range results {
		if isNoScript(err) || how == native && isUnknown(err) {
			again, where = append(again, holds[i]), append(where, i)
		}
	}
	if len(again) == 0 {
		return results
	}
	if how == native {
		s.backend.server.setIfEq.Store(false)
	}
	for i, err := range s.pipeline(ctx, again, byWhole) {
		results[where[i]] = err
	}
	return results
}

// pipeline sends one command a hold.
func (s *session) pipeline(ctx context.Context, holds []distlock.Hold, how int) []error {
	cmds := make([]goredis.Cmder, len(holds))
	for i, h := range holds {
		cmds[i] = s.backend.renewCommand(h, how)
	}
	exec(ctx, s.backend.client, cmds)
	results := make([]error, len(holds))
	for i, cmd := range cmds {
		results[i] = renewed(cmd.(command))
	}
	return results
}

// renewed reads the answer to a renewal: OK or 1, or nil or 0.
func renewed(cmd command) error {
	switch v, err := cmd.Result(); {
	case errors.Is(err, goredis.Nil), v == int64(0):
		return distlock.ErrLost
	default:
		return err
	}
}
