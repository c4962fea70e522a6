package consul

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock"
)

// lookBound is how long the look for the entries of grants may take.
const lookBound = 5 * time.Second

// lookEach is how many entries a renewal allows to look for. There are three in a TTL.
const lookEach = (maxTxn + 2) / 3

var errEntryGone = errors.New("the lock's entry was deleted or replaced by somebody else")

// NotifyLoss has lost called for a grant whose entry is gone.
func (s *session) NotifyLoss(lost func(owner distlock.Owner, cause error)) { s.lost = lost }

// lookForEntries tells of grants whose entries are gone. A renewal is of the session
// and knows nothing of them; so behind those that were answered one transaction checks
// the indexes of the entries that were not looked at for longest. That one has another
// index is not enough: somebody may have changed what is in it, and it is still ours to
// delete. What is not answered is looked for after the next renewal.
//
// Each renewal allows for a third of what a transaction can have, and a look waits until
// it is allowed as many as it can have: so a few grants are looked for behind each
// renewal, and however many there are, they cost a request and maxTxn reads in a TTL.
func (s *session) lookForEntries() {
	if s.looking.Swap(true) {
		return
	}
	defer s.looking.Store(false)
	s.allowed = min(s.allowed+lookEach, maxTxn)
	n := min(s.account.size(), maxTxn)
	if n > s.allowed {
		return
	}
	some := s.account.unseen(n)
	if len(some) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(s.hub.ctx, lookBound)
	defer cancel()
	changed, err := s.backend.changed(ctx, some)
	if err != nil {
		return
	}
	s.allowed -= len(some)
	for _, h := range changed {
		entry, err := s.backend.look(ctx, s.name(h.Key))
		if err == nil && (entry == nil || entry.Session != s.id) {
			s.account.drop(h.Key, h.Owner)
			s.lost(h.Owner, errEntryGone)
		}
	}
	s.account.saw(some)
}
