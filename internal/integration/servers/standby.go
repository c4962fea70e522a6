package servers

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/distlock-go/distlock/internal/integration/proxy"
)

// StandbySpec is a primary and one standby that streams from it.
type StandbySpec struct {
	// Sync makes the primary confirm no commit before the standby has it on disk.
	Sync bool
}

// A Standby is a primary and a standby that follows it over Link. With Link
// swallowing, an asynchronous standby does not get what the primary confirms, and a
// primary with a synchronous one confirms nothing.
type Standby struct {
	Primary, Standby *Server
	Link             *proxy.Proxy
}

// standbyName is what the standby calls itself.
const standbyName = "distlock_standby"

// Launch starts both and waits until the standby follows.
func (p StandbySpec) Launch(ctx context.Context) (*Standby, error) {
	s, err := p.launch(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("standby of %s: %w", Postgres.Name, err), s.Close(ctx))
	}
	return s, nil
}

func (p StandbySpec) launch(ctx context.Context) (s *Standby, err error) {
	s = &Standby{}
	primary, state := Postgres.named("%s primary", Postgres.Name), "async"
	if p.Sync {
		primary, state = primary.WithArgs("-c", "synchronous_standby_names="+standbyName), "sync"
	}
	if s.Primary, err = primary.Launch(ctx); err != nil {
		return s, err
	}
	if s.Link, err = proxy.Listen(s.Primary.Addr()); err != nil {
		return s, err
	}
	standby := Postgres.named("%s standby", Postgres.Name)
	standby.Env = maps.Clone(standby.Env)
	maps.Copy(standby.Env, map[string]string{
		"PRIMARY_HOST": host, "PRIMARY_PORT": s.Link.Port(), "APPLICATION_NAME": standbyName,
	})
	if s.Standby, err = standby.Launch(ctx); err != nil {
		return s, err
	}
	return s, settle(ctx, func(ctx context.Context) error {
		var follows bool
		err := query(ctx, s.Primary.Addr(), "SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '"+state+"'", &follows)
		if err == nil && !follows {
			err = errors.New("it does not follow")
		}
		return err
	})
}

// Promote makes the standby a primary, with the data that it has got, and returns
// when it is one.
func (s *Standby) Promote(ctx context.Context) error {
	var done bool
	err := query(ctx, s.Standby.Addr(), "SELECT pg_promote()", &done)
	if err == nil && !done {
		err = errors.New("the standby was not promoted in time")
	}
	return err
}

// Addrs returns the addresses of the primary and the standby.
func (s *Standby) Addrs() []string { return []string{s.Primary.Addr(), s.Standby.Addr()} }

// Close removes both servers and ends Link.
func (s *Standby) Close(ctx context.Context) error {
	if s.Link != nil {
		s.Link.Close()
	}
	return group{s.Primary, s.Standby}.Close(ctx)
}
