package proxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// end is how a direction of a connection ends.
type end int

const (
	none end = iota
	fin
	rst
)

// item is something to deliver: data, or an end.
type item struct {
	data []byte
	end  end
	due  time.Time
}

// pipe is one direction of a connection.
type pipe struct {
	c       *conn
	dir     int
	more    chan struct{} // has an element if the queue may have grown
	writing sync.Mutex    // held from a look at the mode to the end of the write

	// Guarded by p.mu.
	queue []item
	lost  bool // something was swallowed
}

func newPipe(c *conn, dir int) *pipe {
	return &pipe{c: c, dir: dir, more: make(chan struct{}, 1)}
}

// read takes what one side sends until its end, and queues it.
func (w *pipe) read(from net.Conn) {
	for {
		data := make([]byte, 16<<10)
		n, err := from.Read(data)
		if n > 0 {
			w.put(item{data: data[:n]})
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF):
			w.put(item{end: fin})
		default:
			w.put(item{end: rst})
		}
		return
	}
}

// put queues an item, or swallows it.
func (w *pipe) put(it item) {
	p := w.c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.c.over {
		return
	}
	p.flow(w.dir).Read += int64(len(it.data))
	if delay := p.delays[w.dir]; delay > 0 {
		it.due = time.Now().Add(delay)
	}
	w.queue = append(w.queue, it)
	if p.modes[w.dir] == Swallow {
		w.discard()
	}
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// discard swallows the queue. The caller holds p.mu.
func (w *pipe) discard() {
	for _, it := range w.queue {
		w.c.p.flow(w.dir).Lost += int64(len(it.data))
		w.lost = true
	}
	w.queue = nil
}

// deliver sends queued items to one side as the mode allows, until the end is
// delivered or the connection is over.
func (w *pipe) deliver(to net.Conn) {
	for {
		w.writing.Lock()
		it, ok, wake := w.take()
		if ok && !w.send(to, it) {
			w.writing.Unlock()
			return
		}
		w.writing.Unlock()
		if !ok && !w.await(wake) {
			return
		}
	}
}

// alarm is what to wait for before the next look at the queue.
type alarm struct {
	changed <-chan struct{}
	after   time.Duration // 0: no time
}

// take removes the first item if it may be sent now.
func (w *pipe) take() (it item, ok bool, wake alarm) {
	p := w.c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	wake.changed = p.changed
	if len(w.queue) == 0 || p.modes[w.dir] != Pass {
		return it, false, wake
	}
	it = w.queue[0]
	if wake.after = time.Until(it.due); !it.due.IsZero() && wake.after > 0 {
		return it, false, wake
	}
	w.queue = w.queue[1:]
	return it, true, wake
}

// await returns true when it is time to look again, and false if the connection is
// over.
func (w *pipe) await(wake alarm) bool {
	var due <-chan time.Time
	if wake.after > 0 {
		t := time.NewTimer(wake.after)
		defer t.Stop()
		due = t.C
	}
	select {
	case <-w.c.ctx.Done():
		return false
	case <-wake.changed:
	case <-w.more:
	case <-due:
	}
	return true
}

// send delivers an item and returns false after an end. A receiver that takes
// nothing gets the rest in later calls, so that none of them takes long.
func (w *pipe) send(to net.Conn, it item) bool {
	switch it.end {
	case fin:
		closeWrite(to)
		return false
	case rst:
		w.c.p.mu.Lock()
		defer w.c.p.mu.Unlock()
		w.c.reset()
		return false
	}
	_ = to.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
	n, err := to.Write(it.data)
	w.c.p.mu.Lock()
	defer w.c.p.mu.Unlock()
	w.c.p.flow(w.dir).Forwarded += int64(n)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		it.data = it.data[n:]
		w.queue = append([]item{it}, w.queue...)
		if w.c.p.modes[w.dir] == Swallow {
			w.discard()
		}
	}
	// After another error the receiver is gone, which the other direction tells of.
	return true
}

func closeWrite(n net.Conn) {
	if tcp, ok := n.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}
