package history_test

import "github.com/distlock-go/distlock/internal/integration/history"

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
