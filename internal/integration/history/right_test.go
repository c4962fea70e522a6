package history_test

import "github.com/distlock-go/distlock/internal/integration/history"

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
		[]history.Op{
			entered("a", 1, 0, 10, ""), wrote("a", 1, 11, 12, "", "x"), unknown(entered("b", 2, 15, 0, "")),
			refused(wrote("a", 1, 20, 30, "x", "y")),
		},
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
