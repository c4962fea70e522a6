package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/history"
)

// What follows makes the calls of small histories. Each process here has one lease.

func got(p string, t distlock.Token, call, ret, deadline history.Instant) history.Op {
	return history.Op{Process: p, Number: 1, Kind: history.Acquire, Token: t, Call: call, Return: ret, Deadline: deadline, Outcome: history.Done}
}

func looked(p string, at, deadline history.Instant) history.Op {
	return history.Op{Process: p, Lease: 1, Kind: history.Look, Call: at, Return: at, Deadline: deadline, Outcome: history.Done}
}

func gave(p string, call, ret history.Instant) history.Op {
	return history.Op{Process: p, Lease: 1, Kind: history.Release, Call: call, Return: ret, Outcome: history.Done}
}

func entered(p string, t distlock.Token, call, ret history.Instant, value string) history.Op {
	return history.Op{Process: p, Kind: history.Enter, Token: t, Call: call, Return: ret, Value: value, Outcome: history.Done}
}

func wrote(p string, t distlock.Token, call, ret history.Instant, base, value string) history.Op {
	return history.Op{Process: p, Kind: history.Write, Token: t, Call: call, Return: ret, Base: base, Value: value, Outcome: history.Done}
}

func read(call, ret history.Instant, value string) history.Op {
	return history.Op{Process: "parent", Kind: history.Read, Call: call, Return: ret, Value: value, Outcome: history.Done}
}

func refused(o history.Op) history.Op {
	o.Outcome = history.Refused
	return o
}

func unknown(o history.Op) history.Op {
	o.Outcome, o.Return = history.Unknown, history.Never
	return o
}

func TestWrongHistoriesAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range wrong {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			check(t, c.ops, c.limits, c.rules...)
		})
	}
}

func TestRightHistoriesPass(t *testing.T) {
	t.Parallel()
	for _, c := range right {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			check(t, c.ops, c.limits)
		})
	}
}

// check checks that ops break these rules and no others, also among calls with another
// key, and whatever their order.
func check(t *testing.T, ops []history.Op, l history.Limits, want ...history.Rule) {
	t.Helper()
	var all []history.Op
	for key, ops := range map[string][]history.Op{"k": ops, "other": right[1].ops} {
		for i, o := range ops {
			if o.Number == 0 {
				o.Number = i + 2
			}
			o.Process, o.Key = key+"-"+o.Process, key
			all = append(all, o)
		}
	}
	for range 2 {
		slices.Reverse(all)
		var rules []history.Rule
		violations := history.Check(slices.Clone(all), l).Violations
		for _, v := range violations {
			rules = append(rules, v.Rule)
		}
		if !slices.Equal(rules, want) {
			t.Errorf("got %v, want %v: %v", rules, want, violations)
		}
	}
}

func TestEarlyGrantsAreCounted(t *testing.T) {
	t.Parallel()
	l := history.Limits{EarlyGrants: "it forgets"}
	r := history.Check([]history.Op{got("a", 1, 0, 10, 100), got("b", 2, 20, 30, 110), got("c", 3, 120, 130, 150)}, l)
	if r.Early != 1 || r.Grants != 3 {
		t.Errorf("got %+v, want 1 early of 3 grants", r)
	}
}

func TestLostWritesAreFound(t *testing.T) {
	t.Parallel()
	ops := []history.Op{
		wrote("a", 1, 0, 10, "", "a"), wrote("b", 2, 20, 30, "", "b"), wrote("a", 3, 40, 50, "b", "c"), read(60, 70, "c"),
	}
	if lost := history.Lost(ops); len(lost) != 1 || lost[0].Value != "a" {
		t.Errorf("got %v, want the write of a", lost)
	}
}

// A search that takes too long is no pass. Many unknown writes and a value that none of
// them explains have as many orders to be tried as there are subsets.
func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	var ops []history.Op
	for i := range 40 {
		o := unknown(wrote("a", 1, history.Instant(i), 0, "", fmt.Sprint("v", i)))
		o.Number, o.Key = i+1, "k"
		ops = append(ops, o)
	}
	last := read(1000, 1010, "from nowhere")
	last.Key = "k"
	begin := time.Now()
	r := history.Check(append(ops, last), history.Limits{Time: 200 * time.Millisecond})
	for _, v := range r.Violations {
		if v.Rule == history.Undecided && strings.HasPrefix(v.Text, string(history.Register)+": no order") {
			return
		}
	}
	t.Errorf("got %v after %v, want it undecided", r.Violations, time.Since(begin))
}
