package main

import (
	"fmt"

	"github.com/distlock-go/distlock"
)

// steps lead from each version to the next. A step and the version that it
// leads to are written in one go.
var steps = []string{"create accounts", "add accounts.email", "index accounts.email"}

// A store stands for the database. It refuses steps of a holder that has been
// replaced: in SQL by a column of the table of versions and a condition on it.
type store struct {
	fence   distlock.Fence
	version int      // guarded by fence
	applied []string // likewise
}

// takeOver raises the mark and then reads the version.
func (s *store) takeOver(lease *distlock.Lease) (version int, err error) {
	err = s.fence.Do(lease.Key(), lease.Token(), func() error {
		version = s.version
		return nil
	})
	return version, err
}

// apply carries out the step from version to the next.
func (s *store) apply(lease *distlock.Lease, version int, step string) error {
	return s.fence.Do(lease.Key(), lease.Token(), func() error {
		if s.version != version {
			return fmt.Errorf("step %q is from version %d, the schema has %d", step, version, s.version)
		}
		s.applied = append(s.applied, step)
		s.version++
		return nil
	})
}

// current returns the version, when nobody writes.
func (s *store) current() int { return s.version }
