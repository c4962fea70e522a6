package redlock

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/redlock/internal/quorum"
)

// Stands for: a release whose answer was lost with its connection was sent again,
// and the answer "not there" to the copy was reported as the loss of the lease.
func TestRepeatedReleaseIsNotCalledLost(t *testing.T) {
	t.Parallel()
	lock := &quorum.Lock{Key: "k", Owner: distlock.NewOwner(), Terms: distlock.Terms{TTL: time.Minute}}
	for _, test := range []struct {
		name    string
		op      quorum.Op
		broken  bool // the first connection
		found   int64
		verdict quorum.Verdict
	}{
		{"released", quorum.Release, false, 1, quorum.Done},
		{"released by the copy", quorum.Release, true, 1, quorum.Done},
		{"not there", quorum.Release, false, 0, quorum.Gone},
		{"not there for the copy", quorum.Release, true, 0, quorum.Failed},
		{"not there to be renewed", quorum.Renew, true, 0, quorum.Gone},
	} {
		c := &call{req: quorum.Request{Op: test.op, Lock: lock}, how: byWhole, cmd: newCommand("eval")}
		if test.broken {
			c.cmd.SetErr(io.EOF)
			if a, again := c.settle(nil); !again {
				t.Fatalf("%s: got %+v after a broken connection, want another attempt", test.name, a)
			}
			c.cmd = newCommand("eval")
		}
		c.cmd.SetVal(test.found)
		a, again := c.settle(nil)
		if again || a.Verdict != test.verdict || (a.Verdict == quorum.Failed) != errors.Is(a.Err, errGone) {
			t.Errorf("%s: got %+v, again %v; want verdict %v", test.name, a, again, test.verdict)
		}
	}
}
