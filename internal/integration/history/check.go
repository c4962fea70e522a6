package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// A Rule is what a history can break.
type Rule string

// The rules, see the package's comment.
const (
	RepeatedToken   Rule = "repeated token"
	TokenOrder      Rule = "token order"
	EarlyGrant      Rule = "early grant"
	SmallerAccepted Rule = "smaller token accepted"
	WronglyRefused  Rule = "wrongly refused"
	LostWrite       Rule = "lost write"
	Lock            Rule = "lock"
	Register        Rule = "register"
	Undecided       Rule = "undecided"
)

// A Violation is a rule that a history breaks.
type Violation struct {
	Rule Rule
	Key  string
	Text string // which calls, and how
}

func (v Violation) String() string { return fmt.Sprintf("%s: %s: %s", v.Rule, v.Key, v.Text) }

// Limits say what is not promised where a history comes from.
type Limits struct {
	// EarlyGrants is why a grant may come before another lease's deadline. Such grants
	// are then counted and break no rule; those of tokens and of the fence stay. ""
	// is for a service that keeps what it has granted.
	EarlyGrants string
	// Unfenced says that the resource looks at no token, so that writes can be lost.
	Unfenced bool
	// Time bounds the search for an order of all calls; 0 means a minute.
	Time time.Duration
}

// A Report is what Check finds.
type Report struct {
	Grants, Writes int // that were acknowledged
	Stale          int // calls that the fence refused
	Early          int // grants before another lease's deadline
	Violations     []Violation
}

// Check judges a history.
func Check(ops []Op, l Limits) Report {
	var r Report
	for _, o := range ops {
		switch {
		case o.Kind == Acquire && o.Outcome == Done:
			r.Grants++
		case o.Kind == Write && o.Outcome == Done:
			r.Writes++
		}
		if o.usesFence() && o.Outcome == Refused {
			r.Stale++
		}
	}
	if l.Time == 0 {
		l.Time = time.Minute
	}
	end := time.Now().Add(l.Time)
	for key, own := range byKey(ops) {
		c := checker{key: key, ops: own, limits: l, report: &r}
		c.tokens()
		c.exclusion()
		if !l.Unfenced {
			c.fence()
			c.lost()
			c.linear(Register, register, registerOps(own), end)
		}
		c.linear(Lock, lock, lockOps(own, l.EarlyGrants != ""), end)
	}
	slices.SortStableFunc(r.Violations, func(a, b Violation) int { return cmp.Compare(a.Key, b.Key) })
	return r
}

// byKey parts ops, each part in the order in which its calls began.
func byKey(ops []Op) map[string][]Op {
	parts := make(map[string][]Op)
	for _, o := range ops {
		parts[o.Key] = append(parts[o.Key], o)
	}
	for _, own := range parts {
		sorted(own)
	}
	return parts
}

// A checker judges what was called with one key.
type checker struct {
	key    string
	ops    []Op
	limits Limits
	report *Report
}

func (c *checker) violated(r Rule, format string, args ...any) {
	c.report.Violations = append(c.report.Violations, Violation{r, c.key, fmt.Sprintf(format, args...)})
}
