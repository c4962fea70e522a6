package soak_test

import (
	"bytes"
	"errors"
	"net"
	"net/rpc"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/history"
)

// A Resource is what the workers change: a set for each key, which is read and written as
// a whole, with a fence before it or without. Its exported methods are called by the
// workers, over net/rpc.
type Resource struct {
	fenced bool
	fence  distlock.Fence

	mu       sync.Mutex // guards all below
	sets     map[string][]string
	writes   map[string]int      // accepted, by key
	sections map[string]*section // by process, the last one
}

// A section is what a holder does between its read and its write.
type section struct {
	key    string
	open   bool
	writes int // that there were at its beginning
}

func newResource(fenced bool) *Resource {
	return &Resource{
		fenced: fenced, sets: make(map[string][]string), writes: make(map[string]int), sections: make(map[string]*section),
	}
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

// A Use is one call of a holder's.
type Use struct {
	Process string
	Key     string
	Token   distlock.Token
	Set     []string // to be written
}

// A Reply is the resource's.
type Reply struct {
	Stale bool
	Set   []string // as it is
}

// Enter is a new holder's first use: it raises the mark and then reads.
func (r *Resource) Enter(u Use, reply *Reply) error {
	return r.guarded(u, reply, func() {
		r.sections[u.Process] = &section{u.Key, true, r.writes[u.Key]}
	})
}

// Write replaces the set.
func (r *Resource) Write(u Use, reply *Reply) error {
	return r.guarded(u, reply, func() {
		r.sets[u.Key] = u.Set
		r.writes[u.Key]++
	})
}

// guarded does what the fence lets through. A call ends the section that its process was
// in.
func (r *Resource) guarded(u Use, reply *Reply, do func()) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sections[u.Process]; s != nil {
		s.open = false
	}
	step := func() error {
		do()
		reply.Set = slices.Clone(r.sets[u.Key])
		return nil
	}
	if !r.fenced {
		return step()
	}
	err := r.fence.Do(u.Key, u.Token, step)
	if errors.Is(err, distlock.ErrStale) {
		reply.Stale = true
		return nil
	}
	return err
}

// overtaken returns the section that a process with one goroutine is in if another
// holder has written since it began, else nil. Whatever the process writes then, others'
// writes are lost by it.
func (r *Resource) overtaken(process string) *section {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sections[process]; s != nil && s.open && r.writes[s.key] > s.writes {
		return s
	}
	return nil
}

// inside reports whether a process with one goroutine is in a section.
func (r *Resource) inside(process string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sections[process]
	return s != nil && s.open
}

// written returns how many writes were accepted.
func (r *Resource) written() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.writes {
		n += w
	}
	return n
}

// last is how the history names a set: by the element that came last.
func last(set []string) string {
	if len(set) == 0 {
		return ""
	}
	return set[len(set)-1]
}

// reads returns what there is in the end, as calls of the history.
func (r *Resource) reads(t *testing.T) []history.Op {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines bytes.Buffer
	log := history.NewLog(&lines, "parent")
	for key, set := range r.sets {
		c := log.Begin(history.Op{Kind: history.Read, Key: key})
		c.Value = last(set)
		c.End(history.Done)
	}
	var h history.History
	if err := errors.Join(h.Collect(&lines), log.Err()); err != nil {
		t.Fatal(err)
	}
	return h.Ops()
}
