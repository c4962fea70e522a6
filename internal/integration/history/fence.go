package history

import (
	"cmp"
	"slices"

	"github.com/distlock-go/distlock"
)

// fence checks SmallerAccepted and WronglyRefused.
func (c *checker) fence() {
	var accepted, refused, reached []Op // reached may have raised the mark
	for _, o := range c.ops {
		switch {
		case !o.usesFence():
			continue
		case o.accepted():
			accepted = append(accepted, o)
		case o.Outcome == Refused:
			refused = append(refused, o)
		}
		if o.Outcome != Refused {
			reached = append(reached, o)
		}
	}
	afterLargest(accepted, func(before, o *Op) {
		if o.Token < before.Token {
			c.violated(SmallerAccepted, "%v after %v", o, before)
		}
	})
	slices.SortFunc(refused, func(a, b Op) int { return cmp.Compare(a.Return, b.Return) })
	var mark distlock.Token // that there can have been
	for _, o := range refused {
		for len(reached) > 0 && reached[0].Call <= o.Return {
			mark = max(mark, reached[0].Token)
			reached = reached[1:]
		}
		if mark <= o.Token {
			c.violated(WronglyRefused, "%v, though no token was larger than %v", o, mark)
		}
	}
}

// lost checks LostWrite.
func (c *checker) lost() {
	for _, o := range Lost(c.ops) {
		c.violated(LostWrite, "%v was acknowledged, and what was read last is not based on it", o)
	}
}

// Lost returns the writes that were acknowledged and that the value which was read last
// is not based on, of calls with one key or several. Only what was written before that
// Read is judged. Without a Read there are none.
func Lost(ops []Op) []Op {
	var lost []Op
	for _, own := range byKey(ops) {
		var last *Op
		writes := make(map[string]*Op) // by value
		for i, o := range own {
			switch {
			case o.Kind == Read && o.Outcome == Done:
				last = &own[i]
			case o.Kind == Write && o.Outcome != Refused:
				writes[o.Value] = &own[i]
			}
		}
		if last == nil {
			continue
		}
		for w := writes[last.Value]; w != nil; w = writes[w.Base] {
			delete(writes, w.Value)
		}
		for _, w := range writes {
			if w.Outcome == Done && w.Return < last.Call {
				lost = append(lost, *w)
			}
		}
	}
	return sorted(lost)
}
