package consul

import (
	"cmp"
	"slices"
	"sync"

	"github.com/distlock-go/distlock"
)

// An account is what a session has or may have. Whatever is locked with the
// session's id was locked by this process, so what is not in here nobody has
// through it. Of a key it can have one grant and any number in doubt: the
// server lets only one of them be true.
type account struct {
	mu     sync.Mutex // guards all below
	grants map[string]record
	doubts map[distlock.Owner]string // the keys of owners whose outcome is not known
	looks  uint32                    // how many there were for the entries of grants
}

// A record is of a grant.
type record struct {
	owner  distlock.Owner
	token  distlock.Token
	sought bool   // others were seen to have the key shortly before
	looked uint32 // the look that found its entry last, or that came before the grant
}

func newAccount() *account {
	return &account{grants: make(map[string]record), doubts: make(map[distlock.Owner]string)}
}

// claim enters owner, in doubt. Again says that it was there before, in doubt
// too if the token is 0. An error says that another owner here has the key, and
// that nothing was changed.
func (a *account) claim(key string, owner distlock.Owner) (token distlock.Token, again bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r, held := a.grants[key]; held {
		if r.owner != owner {
			return 0, false, distlock.Held(0)
		}
		return r.token, true, nil
	}
	_, again = a.doubts[owner]
	a.doubts[owner] = key
	return 0, again, nil
}

// granted ends the doubt about r.owner.
func (a *account) granted(key string, r record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.doubts, r.owner)
	r.looked = a.looks
	a.grants[key] = r
}

// size is the number of grants.
func (a *account) size() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.grants)
}

// unseen returns n grants, or all if there are fewer: those that were not looked at for
// longest.
func (a *account) unseen(n int) []distlock.Hold {
	type grant struct {
		key string
		record
	}
	a.mu.Lock()
	all := make([]grant, 0, len(a.grants))
	for key, r := range a.grants {
		all = append(all, grant{key, r})
	}
	a.mu.Unlock()
	slices.SortFunc(all, func(g, h grant) int { return cmp.Compare(g.looked, h.looked) })
	some := make([]distlock.Hold, min(n, len(all)))
	for i, g := range all[:len(some)] {
		some[i] = distlock.Hold{Key: g.key, Owner: g.owner, Token: g.token}
	}
	return some
}

// saw notes that the entries of some were looked at.
func (a *account) saw(some []distlock.Hold) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looks++
	for _, h := range some {
		if r := a.grants[h.Key]; r.owner == h.Owner {
			r.looked = a.looks
			a.grants[h.Key] = r
		}
	}
}

// find returns owner's record, without a token if there is no grant, and
// whether owner is there at all; and whether another owner's grant of key is.
func (a *account) find(key string, owner distlock.Owner) (r record, known, other bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, held := a.grants[key]
	if held && r.owner == owner {
		return r, true, false
	}
	_, known = a.doubts[owner]
	return record{owner: owner}, known, held
}

// drop takes owner off the account: the key is not owner's, for certain.
func (a *account) drop(key string, owner distlock.Owner) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.doubts, owner)
	if a.grants[key].owner == owner {
		delete(a.grants, key)
	}
}

// knows reports whether owner has a grant or is in doubt. Both at once are asked
// for, as an answer moves an owner from one to the other.
func (a *account) knows(owner distlock.Owner) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, doubted := a.doubts[owner]; doubted {
		return true
	}
	for _, r := range a.grants {
		if r.owner == owner {
			return true
		}
	}
	return false
}

// holds returns all that is on the account. What is in doubt has no token.
func (a *account) holds() (all []distlock.Hold) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, r := range a.grants {
		all = append(all, distlock.Hold{Key: key, Owner: r.owner, Token: r.token})
	}
	for owner, key := range a.doubts {
		all = append(all, distlock.Hold{Key: key, Owner: owner})
	}
	return all
}
