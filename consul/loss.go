package consul

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/distlock-go/distlock"
)

// lookBound is how long the look for the entries of grants may take.
const lookBound = 5 * time.Second

var errEntryGone = errors.New("the lock's entry was deleted or replaced by somebody else")

// NotifyLoss has lost called for a grant whose entry is gone.
func (s *session) NotifyLoss(lost func(owner distlock.Owner, cause error)) { s.lost = lost }

// lookForEntries tells of grants whose entries are gone. A renewal is of the session
// and knows nothing of them; so after each that was answered one transaction checks
// the indexes of up to maxTxn entries. That one has another index is not enough:
// somebody may have changed what is in it, and it is still ours to delete. What is not
// answered is looked for after the next renewal.
func (s *session) lookForEntries() {
	if s.looking.Swap(true) {
		return
	}
	defer s.looking.Store(false)
	ctx, cancel := context.WithTimeout(s.hub.ctx, lookBound)
	defer cancel()
	grants := slices.DeleteFunc(s.account.holds(), func(h distlock.Hold) bool { return h.Token == 0 })
	for some := range slices.Chunk(grants, maxTxn) {
		changed, err := s.backend.changed(ctx, some)
		if err != nil {
			return
		}
		for _, h := range changed {
			entry, err := s.backend.look(ctx, s.name(h.Key))
			if err == nil && (entry == nil || entry.Session != s.id) {
				s.account.drop(h.Key, h.Owner)
				s.lost(h.Owner, errEntryGone)
			}
		}
	}
}
