package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/distlock-go/distlock"
)

// linear looks until end for an order of ops that the model allows.
func (c *checker) linear(rule Rule, m porcupine.Model, ops []porcupine.Operation, end time.Time) {
	left := time.Until(end)
	if left <= 0 {
		c.violated(Undecided, "%s: no time was left for %d calls", rule, len(ops))
		return
	}
	switch porcupine.CheckOperationsTimeout(m, ops, left) {
	case porcupine.Illegal:
		c.violated(rule, "no order explains %d calls: %s", len(ops), obstacle(m, ops))
	case porcupine.Unknown:
		c.violated(Undecided, "%s: no order of %d calls within %v", rule, len(ops), left)
	}
}

// obstacle names the first call that the longest order leaves out which is soon found.
func obstacle(m porcupine.Model, ops []porcupine.Operation) string {
	_, info := porcupine.CheckOperationsVerbose(m, ops, 5*time.Second)
	var longest []porcupine.Operation
	for _, partial := range info.PartialLinearizationsOperations() {
		for _, order := range partial {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	explained := make(map[id]bool)
	for _, o := range longest {
		explained[idOf(o)] = true
	}
	left := slices.DeleteFunc(slices.Clone(ops), func(o porcupine.Operation) bool { return explained[idOf(o)] })
	if len(left) == 0 {
		return "one of them"
	}
	first := slices.MinFunc(left, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	text := fmt.Sprintf("%v", first.Input)
	if n := len(longest); n > 0 {
		text += fmt.Sprintf(" does not follow %v", longest[n-1].Input)
	}
	return text
}

func idOf(o porcupine.Operation) id {
	op := o.Input.(*Op)
	return id{op.Process, op.Number}
}

// operation is o for porcupine. All that a model needs is in the input.
func operation(o *Op, until Instant) porcupine.Operation {
	return porcupine.Operation{Input: o, Output: until, Call: int64(o.Call), Return: int64(o.Return)}
}

// A locked is the state of a lock.
type locked struct {
	holder id      // none if the key is free
	until  Instant // from then on it may be another's without a release
	token  distlock.Token
}

// lock is a lock whose leases expire. A key is granted when it is free, or its holder's
// deadline is over by the time the grant returns; each time with a larger token, if
// there are any.
var lock = porcupine.Model{
	Init: func() any { return locked{} },
	Step: func(state, input, output any) (bool, any) {
		s, o := state.(locked), input.(*Op)
		if o.Kind == Release {
			if s.holder == (id{o.Process, o.Lease}) {
				s.holder = id{}
			}
			return true, s
		}
		if s.holder != (id{}) && s.until > o.Return || o.Token != 0 && o.Token <= s.token {
			return false, s
		}
		return true, locked{id{o.Process, o.Number}, output.(Instant), o.Token}
	},
}

// lockOps returns the grants and releases of one key. With early, no grant needs to wait
// for the deadline of another.
func lockOps(ops []Op, early bool) []porcupine.Operation {
	var all []porcupine.Operation
	for _, g := range grants(ops) {
		if early {
			g.deadline = 0
		}
		all = append(all, operation(&g.Op, g.deadline))
	}
	for i, o := range ops { // one of unknown outcome may be carried out later: no grant is less explained by sooner
		if o.Kind == Release {
			all = append(all, operation(&ops[i], 0))
		}
	}
	return all
}

// A content is the state of a resource behind a fence.
type content struct {
	mark  distlock.Token
	value string
}

// register is a value behind a fence.
var register = porcupine.Model{
	Init: func() any { return content{} },
	Step: func(state, input, _ any) (bool, any) {
		s, o := state.(content), input.(*Op)
		stale := o.usesFence() && o.Token < s.mark
		switch {
		case o.Kind == Read:
			return o.Value == s.value, s
		case stale:
			return o.Outcome != Done, s
		case o.Outcome == Refused:
			return false, s
		}
		s.mark = o.Token
		if o.Kind == Write {
			s.value = o.Value
			return true, s
		}
		return o.Outcome == Unknown || o.Value == s.value, s
	},
}

// registerOps returns the uses of the resource of one key.
func registerOps(ops []Op) []porcupine.Operation {
	var all []porcupine.Operation
	for i, o := range ops {
		if o.usesFence() || o.Kind == Read && o.Outcome == Done {
			all = append(all, operation(&ops[i], 0))
		}
	}
	return all
}
