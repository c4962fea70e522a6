package consul

import (
	"sync"

	"github.com/distlock-go/distlock"
)

// An account is what a session has or may have. Whatever is locked with the
// session's id was locked by this process, so what is not in here nobody has
// through it. Of a key it can have one grant and any number in doubt: the
// server lets only one of them be true.
type account struct {
	mu      sync.Mutex // guards all below
	records map[distlock.Owner]record
	holders map[string]distlock.Owner // those whose grant was seen, by key
}

// A record is of one owner.
type record struct {
	key    string
	token  distlock.Token // 0: in doubt
	sought bool           // others were seen to have the key shortly before the grant
}

func newAccount() *account {
	return &account{records: make(map[distlock.Owner]record), holders: make(map[string]distlock.Owner)}
}

// claim enters owner, in doubt, and returns its record if there was one
// before. An error says that another owner here has the key, and that nothing
// was changed.
func (a *account) claim(key string, owner distlock.Owner) (known record, again bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if h, held := a.holders[key]; held && h != owner {
		return record{}, false, distlock.Held(0)
	}
	known, again = a.records[owner]
	if !again {
		a.records[owner] = record{key: key}
	}
	return known, again, nil
}

// granted replaces the record of owner's claim.
func (a *account) granted(owner distlock.Owner, r record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.records[owner] = r
	a.holders[r.key] = owner
}

// find returns owner's record and whether there is one; and whether another
// owner's grant of key is on the account.
func (a *account) find(key string, owner distlock.Owner) (r record, known, other bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, known = a.records[owner]
	h, held := a.holders[key]
	return r, known, held && h != owner
}

// drop takes owner off the account: the key is not owner's, for certain.
func (a *account) drop(owner distlock.Owner) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if key := a.records[owner].key; a.holders[key] == owner {
		delete(a.holders, key)
	}
	delete(a.records, owner)
}

// knows reports whether the owner with this text is on the account.
func (a *account) knows(text string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for owner := range a.records {
		if owner.Text() == text {
			return true
		}
	}
	return false
}

// holds returns all that is on the account, for Release.
func (a *account) holds() (all []distlock.Hold) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for owner, r := range a.records {
		all = append(all, distlock.Hold{Key: r.key, Owner: owner})
	}
	return all
}
