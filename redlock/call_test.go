package redlock

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/rediscall"
	"github.com/distlock-go/distlock/internal/tasks"
	"github.com/distlock-go/distlock/redlock/internal/quorum"
	goredis "github.com/redis/go-redis/v9"
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
		c := &call{req: quorum.Request{Op: test.op, Lock: lock}, how: byWhole, cmd: rediscall.New("eval")}
		if test.broken {
			c.cmd.SetErr(io.EOF)
			if a, again := c.settle(nil); !again {
				t.Fatalf("%s: got %+v after a broken connection, want another attempt", test.name, a)
			}
			c.cmd = rediscall.New("eval")
		}
		c.cmd.SetVal(test.found)
		a, again := c.settle(nil)
		if again || a.Verdict != test.verdict || (a.Verdict == quorum.Failed) != errors.Is(a.Err, errGone) {
			t.Errorf("%s: got %+v, again %v; want verdict %v", test.name, a, again, test.verdict)
		}
	}
}

// fakeClient has process answer all commands.
type fakeClient struct {
	goredis.UniversalClient
	process func(context.Context, rediscall.Command) error
}

func (f fakeClient) Process(ctx context.Context, cmd goredis.Cmder) error {
	err := f.process(ctx, cmd.(rediscall.Command))
	cmd.SetErr(err)
	return err
}

// Stands for: a request whose connection broke was sent again to a server that could
// not be reached any more, and was reported as not carried out.
func TestWhatWasSentOnceMayBeCarriedOut(t *testing.T) {
	t.Parallel()
	for _, broken := range []bool{false, true} {
		down := false
		rdb := fakeClient{process: func(_ context.Context, cmd rediscall.Command) error {
			switch {
			case down:
				return &net.OpError{Op: "dial", Err: errors.New("connection refused")}
			case cmd.Name() == "info":
				cmd.SetVal("run_id:1\nredis_version:7.0.0\n")
				down = !broken
				return nil
			}
			down = true
			return io.EOF
		}}
		var lanes tasks.Group
		n := newNode(New([]goredis.UniversalClient{rdb}, nil), 0, &lanes)
		answers := make(chan quorum.Answer, 1)
		lock := &quorum.Lock{Key: "k", Owner: distlock.NewOwner(), Terms: distlock.Terms{TTL: time.Minute}}
		n.Do(quorum.Request{Op: quorum.Release, Lock: lock}, func(a quorum.Answer) { answers <- a })
		want := quorum.Declined
		if broken {
			want = quorum.Failed
		}
		if a := <-answers; a.Verdict != want {
			t.Errorf("after a broken connection %v: got %+v, want verdict %v", broken, a, want)
		}
		close(n.closing)
		lanes.Wait()
	}
}

// Stands for: a call that was queued behind a connection that hangs waited for it, or
// for the next call, although it could have had another.
func TestCallBehindAHungConnectionGetsAnother(t *testing.T) {
	t.Parallel()
	hung := make(chan struct{})
	rdb := fakeClient{process: func(context.Context, rediscall.Command) error {
		<-hung
		return io.EOF
	}}
	var lanes tasks.Group
	n := newNode(New([]goredis.UniversalClient{rdb}, nil), 0, &lanes)
	for range maxLanes * maxPipeline { // the first lane may take any number of them
		n.Do(quorum.Request{}, func(quorum.Answer) {})
	}
	busy := 0
	for end := time.Now().Add(10 * time.Second); busy < 2 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		busy = 0
		n.mu.Lock()
		for _, t := range n.begun {
			if !t.IsZero() {
				busy++
			}
		}
		n.mu.Unlock()
	}
	if busy < 2 {
		t.Errorf("%d lanes, want another one beside that which hangs", busy)
	}
	close(n.closing)
	close(hung)
	lanes.Wait()
}
