// Package tasks counts the goroutines that a session has under way.
package tasks

import "sync"

// A Group counts goroutines, so that Close can wait for them. Unlike a
// sync.WaitGroup it may be waited for while calls that were under way start
// others: those that come after Wait has returned are bounded by themselves. The
// zero value is ready.
type Group struct {
	mu   sync.Mutex // guards all below
	n    int
	idle chan struct{} // closed when n is 0; nil while nobody waits
}

// Start runs f in a goroutine of the group.
func (g *Group) Start(f func()) {
	g.mu.Lock()
	g.n++
	g.mu.Unlock()
	go func() {
		defer g.done()
		f()
	}()
}

func (g *Group) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n--
	if g.n == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// Wait returns when no goroutine is left.
func (g *Group) Wait() {
	g.mu.Lock()
	if g.n == 0 {
		g.mu.Unlock()
		return
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.mu.Unlock()
	<-idle
}
