package redis

import (
	"context"
	"errors"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/rediscall"
	goredis "github.com/redis/go-redis/v9"
)

// Renew extends holds, beside the session's other calls: those on one node in
// one pipeline, and each node's by itself, so that one that does not answer
// takes only its own with it.
func (s *session) Renew(ctx context.Context, holds []distlock.Hold) []error {
	results := make([]error, len(holds))
	groups := s.byNode(ctx, holds)
	done := make(chan renewal, len(groups))
	for _, g := range groups {
		s.lane.active.Start(func() {
			g.results = s.renew(ctx, g.holds)
			done <- g
		})
	}
	for i := range results {
		results[i] = errNoAnswer
	}
	for range groups {
		select {
		case g := <-done:
			for i, err := range g.results {
				results[g.where[i]] = err
			}
		case <-ctx.Done():
			return results
		}
	}
	return results
}

// errNoAnswer is the outcome of a renewal whose node has not answered in time.
var errNoAnswer = errors.New("no answer")

// A renewal is a part of a batch.
type renewal struct {
	holds   []distlock.Hold
	where   []int // in the batch
	results []error
}

// A keyed client knows which node serves a key: *redis.ClusterClient.
type keyed interface {
	MasterForKey(ctx context.Context, key string) (*goredis.Client, error)
}

// byNode parts a batch by the nodes that are taken to serve its holds. A guess
// that is out of date costs only the company of others: redirections are
// followed.
func (s *session) byNode(ctx context.Context, holds []distlock.Hold) map[*goredis.Client]renewal {
	cluster, isCluster := s.backend.client.(keyed)
	groups := make(map[*goredis.Client]renewal)
	for i, h := range holds {
		var node *goredis.Client
		if isCluster {
			lock := s.backend.lockName(h.Key)
			node, _ = cluster.MasterForKey(ctx, lock) // nil for those without any
		}
		g := groups[node]
		g.holds, g.where = append(g.holds, h), append(g.where, i)
		groups[node] = g
	}
	return groups
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
	cmds := make([]rediscall.Command, len(holds))
	for i, h := range holds {
		cmds[i] = s.backend.renewCommand(h, how)
	}
	rediscall.Exec(ctx, s.lane.client, cmds)
	results := make([]error, len(holds))
	for i, cmd := range cmds {
		results[i] = renewed(cmd)
	}
	return results
}

// renewed reads the answer to a renewal: OK or 1, or nil or 0.
func renewed(cmd rediscall.Command) error {
	switch v, err := cmd.Result(); {
	case errors.Is(err, goredis.Nil), v == int64(0):
		return distlock.ErrLost
	default:
		return certain(gone(err))
	}
}
