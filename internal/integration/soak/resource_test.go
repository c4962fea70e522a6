package soak_test

import (
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
)

// A Resource is what the workers change, one number a key, and what judges them. Its
// exported methods are called by the workers, over net/rpc.
type Resource struct {
	keeps bool // see service
	fence distlock.Fence

	mu       sync.Mutex // guards all below
	accounts map[string]*account
	faults   []string
	grants   int
	writes   int
	stale    int
}

// An account is one key's. Its marks are kept without the fence, to judge that too.
type account struct {
	value   int
	granted map[distlock.Token]bool
	largest distlock.Token // of the grants that are known
	seen    distlock.Token // by the resource
}

// A Visit is one grant's use of the resource.
type Visit struct {
	Key   string
	Token distlock.Token
	Floor distlock.Token // the largest token that was known before the call began
	Value int            // as read
	Valid bool           // of the lease, after the write was refused
}

func newResource(keeps bool) *Resource {
	return &Resource{keeps: keeps, accounts: make(map[string]*account)}
}

// serve lets workers call r until the test ends, and returns the address.
func (r *Resource) serve(t *testing.T) string {
	addr := filepath.Join(t.TempDir(), "resource")
	l, err := net.Listen("unix", addr)
	if err != nil {
		t.Fatal(err)
	}
	server := rpc.NewServer()
	if err := server.Register(r); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with l
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go server.ServeConn(conn) // ends with its worker
		}
	}()
	t.Cleanup(func() { l.Close() })
	return addr
}

// Begin tells which tokens are known before a worker asks for a key.
func (r *Resource) Begin(key string, floor *distlock.Token) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	*floor = r.account(key).largest
	return nil
}

// Enter is a new holder's first use: it raises the mark and then reads. The reply says
// whether the fence let it in.
func (r *Resource) Enter(v Visit, reply *Reply) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.account(v.Key)
	r.grants++
	switch {
	case a.granted[v.Token]:
		r.fault("%s: token %v was granted twice", v.Key, v.Token)
	case v.Token <= v.Floor:
		r.fault("%s: token %v was granted after %v", v.Key, v.Token, v.Floor)
	}
	a.granted[v.Token] = true
	a.largest = max(a.largest, v.Token)
	r.answer(a, v, r.fence.Advance(v.Key, v.Token), reply)
	return nil
}

// Write adds 1 to what the holder has read.
func (r *Resource) Write(v Visit, reply *Reply) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.account(v.Key)
	r.answer(a, v, r.fence.Do(v.Key, v.Token, func() error {
		if a.value != v.Value {
			r.fault("%s: token %v writes %d over %d", v.Key, v.Token, v.Value+1, a.value)
		}
		a.value = v.Value + 1
		r.writes++
		return nil
	}), reply)
	return nil
}

// Refused tells what the holder's own lease says once its write was refused.
func (r *Resource) Refused(v Visit, _ *Reply) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v.Valid && r.keeps {
		r.fault("%s: token %v is valid beside a later grant", v.Key, v.Token)
	}
	return nil
}

// A Reply is the resource's.
type Reply struct {
	Stale bool
	Value int
}

// answer judges what the fence says. r.mu is held.
func (r *Resource) answer(a *account, v Visit, err error, reply *Reply) {
	reply.Value = a.value
	switch {
	case err == nil:
		if v.Token < a.seen {
			r.fault("%s: token %v was accepted after %v", v.Key, v.Token, a.seen)
		}
		a.seen = max(a.seen, v.Token)
	case errors.Is(err, distlock.ErrStale):
		if v.Token >= a.seen {
			r.fault("%s: token %v was refused after %v", v.Key, v.Token, a.seen)
		}
		reply.Stale = true
		r.stale++
	default:
		r.fault("%s: token %v: %v", v.Key, v.Token, err)
	}
}

// account returns key's. r.mu is held.
func (r *Resource) account(key string) *account {
	a := r.accounts[key]
	if a == nil {
		a = &account{granted: make(map[distlock.Token]bool)}
		r.accounts[key] = a
	}
	return a
}

// fault notes that something promised is not so. r.mu is held.
func (r *Resource) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// report fails the test with what was noted, and tells how much was done.
func (r *Resource) report(t *testing.T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, f := range r.faults {
		if i == 20 {
			t.Errorf("and %d more", len(r.faults)-i)
			break
		}
		t.Error(f)
	}
	t.Logf("%d grants, %d writes, %d refused as stale", r.grants, r.writes, r.stale)
	sum := 0
	for _, a := range r.accounts {
		sum += a.value
	}
	if sum != r.writes {
		t.Errorf("the values add up to %d after %d writes: updates were lost", sum, r.writes)
	}
	if r.writes < 10*keys {
		t.Errorf("got %d writes: too few to say anything", r.writes)
	}
	if r.stale == 0 && *soak >= time.Minute {
		t.Error("the fence was never needed: the nemesis does too little")
	}
}
