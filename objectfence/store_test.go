package objectfence_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"io/fs"
	"sync"

	"github.com/distlock-go/distlock/objectfence"
)

// A store is a service of objects in memory. As in S3, a tag is a hash of the body
// and of nothing else.
type store struct {
	mu      sync.Mutex // guards all below
	objects map[string][]byte
	puts    int
	// before is called before each put, without the lock, with its number; an
	// error is the put's answer.
	before func(n int) error
	// after is called when the n-th put was carried out; an error is its answer.
	after func(n int) error
}

func newStore() *store { return &store{objects: make(map[string][]byte)} }

func tagOf(body []byte) string {
	sum := md5.Sum(body)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

func (s *store) Get(ctx context.Context, name string) ([]byte, string, error) {
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	body, ok := s.objects[name]
	if !ok {
		return nil, "", fs.ErrNotExist
	}
	return bytes.Clone(body), tagOf(body), nil
}

func (s *store) Put(ctx context.Context, name string, body []byte, ifMatch string) error {
	s.mu.Lock()
	s.puts++
	n, before, after := s.puts, s.before, s.after
	s.mu.Unlock()
	if before != nil {
		if err := before(n); err != nil {
			return err
		}
	}
	if !s.put(name, body, ifMatch) {
		return objectfence.ErrPrecondition
	}
	if after != nil {
		return after(n)
	}
	return nil
}

func (s *store) put(name string, body []byte, ifMatch string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, ok := s.objects[name]
	if ok != (ifMatch != "") || ok && tagOf(old) != ifMatch {
		return false
	}
	s.objects[name] = bytes.Clone(body)
	return true
}
