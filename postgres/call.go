package postgres

import (
	"sync/atomic"
	"time"
)

// A verb is what a call asks for. Calls of one verb that go together share a
// statement; the statements of a flight are sent in the order of the verbs.
type verb int

const (
	settle verb = iota // note that the key is given up in good order
	release
	listen
	beat
	broken // look whether the key is to be let go of
	acquire
	verbs // how many there are
)

// A call is one request on a lock connection.
type call struct {
	verb   verb
	id     int64         // of settle, release, broken and acquire; of beat the bell's
	key    string        // of acquire
	holder string        // of acquire
	delay  time.Duration // of acquire
	query  string        // of listen

	// after, if not nil, is called when the outcome is there, before done is
	// closed, without any lock.
	after func()
	done  chan struct{}
	left  atomic.Bool // nobody waits any more: need not be sent

	// The outcome, to be read once done is closed.
	row []int64 // what the statement returned for id; nil: nothing
	err error
}

func newCall(v verb, id int64) *call { return &call{verb: v, id: id, done: make(chan struct{})} }

// finish tells those who wait.
func (c *call) finish(err error) {
	c.err = err
	if c.after != nil {
		c.after()
	}
	close(c.done)
}
