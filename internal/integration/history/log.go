package history

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
)

// A Log notes the calls of one process. It is safe for concurrent use.
type Log struct {
	process string

	mu   sync.Mutex // guards all below
	w    io.Writer
	next int
	err  error
}

// NewLog returns a log that writes lines to w, each in one call of its Write. A line is
// shorter than what a pipe takes at once, so that a killed process leaves no half ones.
func NewLog(w io.Writer, process string) *Log { return &Log{process: process, w: w, next: 1} }

// A Call is one that has begun. Its Op may be filled in until End.
type Call struct {
	Op
	log *Log
}

// Begin notes that a call begins. What is known of it before it returns is in o.
func (l *Log) Begin(o Op) *Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	o.Process, o.Number, o.Return, o.Outcome = l.process, l.next, Never, Unknown
	l.next++
	o.Call = Now()
	l.write(o)
	return &Call{o, l}
}

// End notes that the call has returned.
func (c *Call) End(outcome Outcome) {
	c.Return, c.Outcome = Now(), outcome
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	c.log.write(c.Op)
}

// Err returns the first error of writing. The history lacks something then.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// write writes a line. l.mu is held.
func (l *Log) write(o Op) {
	text, err := json.Marshal(o)
	if err == nil {
		_, err = l.w.Write(append(text, '\n'))
	}
	if l.err == nil {
		l.err = err
	}
}

// A History is the calls of several processes. The zero value is empty. It is safe for
// concurrent use.
type History struct {
	mu  sync.Mutex // guards ops
	ops map[id]Op
}

// An id tells calls apart.
type id struct {
	process string
	number  int
}

// Collect adds the lines of one process until their end. An error says that what was
// read is no history, or cannot be read.
func (h *History) Collect(r io.Reader) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var o Op
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return fmt.Errorf("%q: %w", lines.Text(), err)
		}
		if err := h.add(o); err != nil {
			return err
		}
	}
	return lines.Err()
}

// add adds a call's beginning or its end.
func (h *History) add(o Op) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ops == nil {
		h.ops = make(map[id]Op)
	}
	at := id{o.Process, o.Number}
	begun, known := h.ops[at]
	switch {
	case known != (o.Return != Never), known && (begun.Return != Never || begun.Call != o.Call):
		return fmt.Errorf("%v does not follow %v", o, begun)
	case o.Return < o.Call:
		return fmt.Errorf("%v returned before it began", o)
	}
	h.ops[at] = o
	return nil
}

// Ops returns all calls so far, in the order in which they began. Those under way have
// not returned.
func (h *History) Ops() []Op {
	h.mu.Lock()
	defer h.mu.Unlock()
	return sorted(slices.Collect(maps.Values(h.ops)))
}

// sorted sorts ops by when they began.
func sorted(ops []Op) []Op {
	slices.SortFunc(ops, func(a, b Op) int {
		if c := cmp.Compare(a.Call, b.Call); c != 0 {
			return c
		}
		return cmp.Compare(a.Return, b.Return)
	})
	return ops
}
