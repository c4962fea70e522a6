package history_test

import (
	"fmt"
	"slices"
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

// wrong are histories of which each breaks a rule, and is refused for nothing else.
// Where the lock's or the register's model sees it too, that is said.
var wrong = []struct {
	name   string
	rules  []history.Rule
	limits history.Limits
	ops    []history.Op
}{
	{
		"two grants with one token",
		[]history.Rule{history.RepeatedToken, history.Lock},
		history.Limits{},
		[]history.Op{got("a", 5, 0, 10, 100), gave("a", 20, 30), got("b", 5, 40, 50, 100)},
	},
	{
		"a later grant has a smaller token",
		[]history.Rule{history.TokenOrder, history.Lock},
		history.Limits{},
		[]history.Op{got("a", 5, 0, 10, 100), gave("a", 20, 30), got("b", 4, 40, 50, 100), gave("b", 60, 70)},
	},
	{
		"the largest token is not the last one",
		[]history.Rule{history.TokenOrder, history.TokenOrder, history.Lock},
		history.Limits{},
		[]history.Op{
			got("a", 3, 0, 10, 15), gave("a", 12, 15), got("b", 6, 20, 30, 35), gave("b", 32, 35),
			got("c", 4, 40, 50, 55), gave("c", 52, 53), got("d", 5, 60, 70, 100),
		},
	},
	{
		"a grant before the deadline",
		[]history.Rule{history.EarlyGrant, history.Lock},
		history.Limits{},
		[]history.Op{got("a", 1, 0, 10, 100), got("b", 2, 20, 99, 200)},
	},
	{
		"a grant before a deadline that a renewal has moved",
		[]history.Rule{history.EarlyGrant, history.Lock},
		history.Limits{},
		[]history.Op{got("a", 1, 0, 10, 100), looked("a", 90, 150), got("b", 2, 20, 120, 200)},
	},
	{
		"a grant before the release began",
		[]history.Rule{history.EarlyGrant, history.Lock},
		history.Limits{},
		[]history.Op{got("a", 1, 0, 10, 100), gave("a", 50, 60), got("b", 2, 20, 40, 200)},
	},
	{
		"a grant before the deadline of the last but one",
		[]history.Rule{history.EarlyGrant, history.EarlyGrant, history.Lock},
		history.Limits{},
		[]history.Op{got("a", 1, 0, 10, 100), got("b", 2, 20, 30, 40), got("c", 3, 50, 60, 200)},
	},
	{
		"two holders without tokens",
		[]history.Rule{history.Lock},
		history.Limits{},
		[]history.Op{got("a", 0, 0, 10, 100), got("b", 0, 20, 30, 120)},
	},
	{
		"releases by others than the holder",
		[]history.Rule{history.Lock},
		history.Limits{},
		[]history.Op{
			got("a", 0, 0, 10, 15), got("b", 0, 20, 30, 120), gave("a", 40, 50), got("c", 0, 60, 70, 150),
		},
	},
	{
		"no order of overlapping grants",
		[]history.Rule{history.EarlyGrant, history.EarlyGrant, history.Lock},
		history.Limits{},
		[]history.Op{got("a", 1, 0, 50, 100), got("b", 2, 0, 60, 110), got("c", 3, 0, 70, 120)},
	},
	{
		"tokens out of order where early grants are known",
		[]history.Rule{history.TokenOrder, history.Lock},
		history.Limits{EarlyGrants: "it forgets"},
		[]history.Op{got("a", 5, 0, 10, 100), got("b", 4, 20, 30, 110)},
	},
	{
		"a smaller token is accepted",
		[]history.Rule{history.SmallerAccepted, history.Register},
		history.Limits{},
		[]history.Op{
			entered("a", 1, 0, 10, ""), entered("b", 2, 20, 30, ""), wrote("a", 1, 40, 50, "", "x"),
			wrote("b", 2, 60, 70, "x", "y"), read(80, 90, "y"),
		},
	},
	{
		"a smaller token is let in",
		[]history.Rule{history.SmallerAccepted, history.Register},
		history.Limits{},
		[]history.Op{entered("b", 2, 20, 30, ""), entered("a", 1, 40, 50, "")},
	},
	{
		"a refusal for nothing",
		[]history.Rule{history.WronglyRefused, history.Register},
		history.Limits{},
		[]history.Op{entered("a", 1, 0, 10, ""), refused(wrote("a", 1, 20, 30, "", "x")), entered("b", 2, 40, 50, "")},
	},
	{
		"a refusal for a refused token",
		[]history.Rule{history.WronglyRefused, history.WronglyRefused, history.Register},
		history.Limits{},
		[]history.Op{refused(entered("b", 2, 0, 10, "")), refused(entered("a", 1, 20, 30, ""))},
	},
	{
		"two writes over one value",
		[]history.Rule{history.LostWrite},
		history.Limits{},
		[]history.Op{
			entered("a", 1, 0, 10, ""), wrote("a", 1, 20, 30, "", "x"), wrote("a", 1, 40, 50, "", "y"), read(60, 70, "y"),
		},
	},
	{
		"a write that is gone",
		[]history.Rule{history.LostWrite, history.Register},
		history.Limits{},
		[]history.Op{entered("a", 1, 0, 10, ""), wrote("a", 1, 20, 30, "", "x"), read(40, 50, "")},
	},
	{
		"a holder reads what was before the last write",
		[]history.Rule{history.Register},
		history.Limits{},
		[]history.Op{
			entered("a", 1, 0, 10, ""), wrote("a", 1, 20, 30, "", "x"), entered("b", 2, 40, 50, ""), read(60, 70, "x"),
		},
	},
	{
		"a value from nowhere",
		[]history.Rule{history.Register},
		history.Limits{},
		[]history.Op{entered("a", 1, 0, 10, "z")},
	},
	{
		"a write of unknown outcome is there and gone again",
		[]history.Rule{history.Register},
		history.Limits{},
		[]history.Op{
			entered("a", 1, 0, 10, ""), unknown(wrote("a", 1, 20, 30, "", "x")), entered("b", 2, 40, 50, "x"), entered("c", 3, 60, 70, ""),
		},
	},
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

// right are histories that break no rule.
var right = []struct {
	name   string
	limits history.Limits
	ops    []history.Op
}{
	{"nothing", history.Limits{}, nil},
	{
		"one after the other",
		history.Limits{},
		[]history.Op{
			got("a", 1, 0, 10, 100), entered("a", 1, 11, 12, ""), wrote("a", 1, 13, 14, "", "x"), gave("a", 20, 30),
			got("b", 2, 40, 50, 100), entered("b", 2, 51, 52, "x"), wrote("b", 2, 53, 54, "x", "y"), gave("b", 60, 70), read(80, 90, "y"),
		},
	},
	{
		"a grant at the deadline",
		history.Limits{},
		[]history.Op{got("a", 1, 0, 10, 100), got("b", 2, 20, 100, 200)},
	},
	{
		"a grant during the release",
		history.Limits{},
		[]history.Op{got("a", 1, 0, 10, 100), gave("a", 30, 60), got("b", 2, 20, 40, 200)},
	},
	{
		"a release that came to no answer, and was carried out",
		history.Limits{},
		[]history.Op{got("a", 1, 0, 10, 100), unknown(gave("a", 30, 60)), got("b", 2, 20, 40, 200)},
	},
	{
		"a release that was never carried out",
		history.Limits{},
		[]history.Op{got("a", 1, 0, 10, 100), unknown(gave("a", 30, 60)), got("b", 2, 20, 110, 200), gave("b", 120, 130), got("c", 3, 125, 140, 220)},
	},
	{
		"a lease that is over before its grant has returned",
		history.Limits{},
		[]history.Op{got("a", 1, 0, 90, 50), got("b", 2, 10, 60, 150)},
	},
	{
		"grants return in another order than they came in",
		history.Limits{},
		[]history.Op{got("b", 2, 0, 20, 30), gave("b", 22, 25), got("a", 1, 0, 50, 10), got("c", 3, 0, 24, 90)},
	},
	{
		"overlapping grants and releases",
		history.Limits{},
		[]history.Op{
			got("a", 1, 0, 50, 100), got("b", 2, 0, 60, 110), got("c", 3, 0, 70, 120),
			gave("a", 51, 90), gave("b", 61, 90), gave("c", 71, 90),
		},
	},
	{
		"tokens of calls that overlap",
		history.Limits{},
		[]history.Op{got("a", 2, 0, 30, 100), gave("a", 31, 32), got("b", 1, 30, 33, 30)},
	},
	{
		"no tokens",
		history.Limits{},
		[]history.Op{got("a", 0, 0, 10, 100), gave("a", 20, 30), got("b", 0, 5, 25, 100), gave("b", 40, 50), got("c", 0, 110, 120, 200)},
	},
	{
		"an acquire that was refused, and one that never returned",
		history.Limits{},
		[]history.Op{got("a", 3, 0, 10, 100), refused(got("b", 0, 20, 30, 0)), unknown(got("c", 0, 20, 0, 0))},
	},
	{
		"an early grant where it is known, and the fence refuses the older",
		history.Limits{EarlyGrants: "it forgets"},
		[]history.Op{
			got("a", 1, 0, 10, 100), entered("a", 1, 11, 12, ""), got("b", 2, 20, 30, 110), entered("b", 2, 31, 32, ""),
			refused(wrote("a", 1, 40, 50, "", "x")), wrote("b", 2, 60, 70, "", "y"), read(80, 90, "y"),
		},
	},
	{
		"a smaller token overtakes in flight",
		history.Limits{},
		[]history.Op{entered("b", 2, 0, 30, ""), entered("a", 1, 10, 20, "")},
	},
	{
		"a stale write that was sent before the larger token came",
		history.Limits{},
		[]history.Op{
			entered("a", 1, 0, 10, ""), wrote("a", 1, 20, 50, "", "x"), entered("b", 2, 30, 40, "x"), wrote("b", 2, 60, 70, "x", "y"), read(80, 90, "y"),
		},
	},
	{
		"a refusal by a token whose own call has not returned",
		history.Limits{},
		[]history.Op{entered("a", 1, 0, 10, ""), unknown(entered("b", 2, 15, 0, "")), refused(wrote("a", 1, 20, 30, "", "x"))},
	},
	{
		"a write of unknown outcome that is there",
		history.Limits{},
		[]history.Op{
			entered("a", 1, 0, 10, ""), wrote("a", 1, 12, 15, "", "w"), unknown(wrote("a", 1, 20, 0, "w", "x")),
			entered("b", 2, 30, 40, "x"), wrote("b", 2, 50, 60, "x", "y"), read(80, 90, "y"),
		},
	},
	{
		"a write of unknown outcome that comes late",
		history.Limits{},
		[]history.Op{
			entered("a", 1, 0, 10, ""), unknown(wrote("a", 1, 20, 0, "", "x")), read(30, 40, ""), read(50, 60, "x"),
		},
	},
	{
		"a write of unknown outcome that is refused unseen",
		history.Limits{},
		[]history.Op{
			entered("a", 1, 0, 10, ""), unknown(wrote("a", 1, 20, 0, "", "x")), entered("b", 2, 30, 40, ""), wrote("b", 2, 50, 60, "", "y"), read(80, 90, "y"),
		},
	},
	{
		"a write that has come after the last read",
		history.Limits{},
		[]history.Op{entered("a", 1, 0, 10, ""), wrote("a", 1, 20, 50, "", "x"), read(30, 40, "")},
	},
	{
		"a lost write without a fence",
		history.Limits{Unfenced: true},
		[]history.Op{wrote("a", 1, 20, 30, "", "x"), wrote("b", 2, 40, 50, "", "y"), read(60, 70, "y")},
	},
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
	if len(r.Violations) == 0 || r.Violations[0].Rule != history.Undecided {
		t.Errorf("got %v after %v, want it undecided", r.Violations, time.Since(begin))
	}
}
