package history

import (
	"cmp"
	"slices"
)

// A grant is an Acquire that was Done, with what is certain of its lease.
type grant struct {
	Op
	deadline Instant // the last that is known
	released Instant // when the first Release was called, or Never
}

// end is until when the lease was held at least.
func (g *grant) end() Instant { return min(g.deadline, g.released) }

// grants returns all grants among the calls with one key, as they began.
func grants(ops []Op) []*grant {
	var all []*grant
	byID := make(map[id]*grant)
	for _, o := range ops {
		if o.Kind == Acquire && o.Outcome == Done {
			g := &grant{o, o.Deadline, Never}
			all = append(all, g)
			byID[id{o.Process, o.Number}] = g
		}
	}
	for _, o := range ops {
		g := byID[id{o.Process, o.Lease}]
		switch {
		case g == nil:
		case o.Kind == Look && o.Outcome == Done:
			g.deadline = max(g.deadline, o.Deadline)
		case o.Kind == Release:
			g.released = min(g.released, o.Call)
		}
	}
	return all
}

// tokens checks RepeatedToken and TokenOrder. Where there are no tokens it has nothing to
// say.
func (c *checker) tokens() {
	holders := make(map[uint64]*Op)
	var fenced []Op
	for _, g := range grants(c.ops) {
		if g.Token == 0 {
			continue
		}
		if other := holders[uint64(g.Token)]; other != nil {
			c.violated(RepeatedToken, "%v and %v", other, g)
		}
		holders[uint64(g.Token)] = &g.Op
		fenced = append(fenced, g.Op)
	}
	afterLargest(fenced, func(before, o *Op) {
		if o.Token < before.Token {
			c.violated(TokenOrder, "%v after %v", o, before)
		}
	})
}

// exclusion checks EarlyGrant, by the order of the tokens. Without tokens the lock's
// model is the only judge.
func (c *checker) exclusion() {
	all := grants(c.ops)
	slices.SortStableFunc(all, func(a, b *grant) int { return cmp.Compare(a.Token, b.Token) })
	var last *grant // of those before, the one that was held longest
	for _, g := range all {
		switch {
		case g.Token == 0:
			continue
		case last == nil || g.Return >= last.end() || g.Token == last.Token:
		case g.Return < last.Call: // it is not the later one: see TokenOrder
		case c.limits.EarlyGrants != "":
			c.report.Early++
		default:
			c.violated(EarlyGrant, "%v while %v was held until %d", g, last, last.end())
		}
		if last == nil || g.end() > last.end() {
			last = g
		}
	}
}

// afterLargest calls f for each op with that of the largest token among those that had
// returned before it began, if there are any. Ops are in the order in which they began.
func afterLargest(ops []Op, f func(before, o *Op)) {
	returned := make([]*Op, len(ops))
	for i := range ops {
		returned[i] = &ops[i]
	}
	slices.SortFunc(returned, func(a, b *Op) int { return cmp.Compare(a.Return, b.Return) })
	var largest *Op
	for i := range ops {
		for len(returned) > 0 && returned[0].Return < ops[i].Call {
			if largest == nil || returned[0].Token > largest.Token {
				largest = returned[0]
			}
			returned = returned[1:]
		}
		if largest != nil {
			f(largest, &ops[i])
		}
	}
}
