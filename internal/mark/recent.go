package mark

import (
	"sync"

	"github.com/distlock-go/distlock"
)

// maxRecent bounds how many versions are remembered: under a megabyte, with keys
// of common length.
const maxRecent = 4096

// A recent remembers in which version marks were last seen, so that a write after
// Advance needs no read. It promises nothing: who relies on a version has the store
// check it.
type recent struct {
	mu   sync.Mutex // guards seen
	seen map[string]seen
}

type seen struct {
	token   distlock.Token
	version int64
}

// version returns in which version the mark of key was t's.
func (r *recent) version(key string, t distlock.Token) (version int64, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, known := r.seen[key]
	return s.version, known && s.token == t
}

func (r *recent) note(key string, t distlock.Token, version int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil || len(r.seen) >= maxRecent {
		r.seen = make(map[string]seen)
	}
	r.seen[key] = seen{t, version}
}

func (r *recent) forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, key)
}
