package history_test

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/integration/history"
)

// processEnv makes the test binary a process that writes a history.
const processEnv = "DISTLOCK_HISTORY_PROCESS"

func TestMain(m *testing.M) {
	if name := os.Getenv(processEnv); name != "" {
		l := history.NewLog(os.Stdout, name)
		c := l.Begin(history.Op{Kind: history.Acquire, Key: "k"})
		c.Token, c.Deadline = 7, history.Until(time.Now().Add(time.Hour))
		c.End(history.Done)
		l.Begin(history.Op{Kind: history.Release, Key: "k", Lease: c.Number}) // it never returns
		if l.Err() != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// Two processes, one after the other: their times are of one clock, in that order, and
// their calls are told apart.
func TestProcessesShareAClock(t *testing.T) {
	t.Parallel()
	var h history.History
	before := history.Now()
	for _, name := range []string{"first", "second"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), processEnv+"="+name)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err == nil {
			err = h.Collect(out)
		}
		if err == nil {
			err = cmd.Wait()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	after := history.Now()
	ops := h.Ops()
	if len(ops) != 4 {
		t.Fatalf("got %v, want 4 calls", ops)
	}
	for i, o := range ops {
		if want := []string{"first", "first", "second", "second"}[i]; o.Process != want {
			t.Errorf("call %d is %v, want one of %s", i, o, want)
		}
		if o.Call < before || o.Call > after {
			t.Errorf("%v began outside of [%d, %d]", o, before, after)
		}
	}
	got, gave := ops[0], ops[1]
	if got.Outcome != history.Done || got.Return < got.Call || got.Token != 7 {
		t.Errorf("got %+v, want a grant", got)
	}
	if hour := history.Instant(time.Hour); got.Deadline > got.Return+hour || got.Deadline < got.Call {
		t.Errorf("the deadline is %d, want an hour after [%d, %d] or less", got.Deadline, got.Call, got.Return)
	}
	if gave.Outcome != history.Unknown || gave.Return != history.Never || gave.Lease != got.Number {
		t.Errorf("got %+v, want a release that has not returned", gave)
	}
}

func TestWhatIsNoHistory(t *testing.T) {
	t.Parallel()
	begin := `{"Process":"a","Number":1,"Call":5,"Return":9223372036854775807}` + "\n"
	end := `{"Process":"a","Number":1,"Call":5,"Return":9}` + "\n"
	for _, c := range []struct{ name, lines string }{
		{"no JSON", "hello\n"},
		{"an end without a beginning", end},
		{"a call that begins twice", begin + begin},
		{"a call that ends twice", begin + end + end},
		{"an end of another call", begin + strings.Replace(end, `"Call":5`, `"Call":6`, 1)},
		{"an end before the beginning", begin + strings.Replace(end, "9}", "4}", 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := new(history.History).Collect(strings.NewReader(c.lines)); err == nil {
				t.Error("it was taken")
			}
		})
	}
	if err := new(history.History).Collect(strings.NewReader(begin + end)); err != nil {
		t.Errorf("got %v for a call that begins and ends", err)
	}
}

func TestLogTellsThatItCannotWrite(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	r.Close()
	l := history.NewLog(w, "a")
	l.Begin(history.Op{Kind: history.Read}).End(history.Done)
	if l.Err() == nil {
		t.Error("the history lacks a call, and nobody is told")
	}
}

func TestOpsAreInOrder(t *testing.T) {
	t.Parallel()
	var h history.History
	r, w := io.Pipe()
	go func() { // ends with the history
		l := history.NewLog(w, "a")
		first, second := l.Begin(history.Op{Kind: history.Read}), l.Begin(history.Op{Kind: history.Read})
		second.End(history.Done)
		first.End(history.Done)
		w.Close()
	}()
	if err := h.Collect(r); err != nil {
		t.Fatal(err)
	}
	if ops := h.Ops(); len(ops) != 2 || !slices.IsSortedFunc(ops, func(a, b history.Op) int { return int(a.Call - b.Call) }) {
		t.Errorf("got %v, want two in order", ops)
	}
}
