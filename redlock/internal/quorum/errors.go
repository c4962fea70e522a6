package quorum

import (
	"fmt"
	"strings"
)

// Said returns an error that tells of each node what it said, in the order of the
// nodes, and matches errs.
func Said(what string, text []string, errs []error) error {
	return &nodesError{what: what, text: text, errs: errs}
}

// A nodesError says what each node said. It matches the nodes' own errors.
type nodesError struct {
	what string
	text []string
	errs []error
}

func (e *nodesError) Error() string   { return e.what + ": " + strings.Join(e.text, "; ") }
func (e *nodesError) Unwrap() []error { return e.errs }

var opNames = map[Op]string{
	Acquire: "no majority granted", Confirm: "no majority took the token back",
	Renew: "no majority renewed", Release: "no majority released",
}

// said returns the error of a round that came to nothing.
func (r *round) said() error {
	set := r.claim.set
	e := &nodesError{what: fmt.Sprintf("%s, %d of %d nodes", opNames[r.op], set.Quorum, len(set.Nodes))}
	for i, v := range r.votes {
		text, err := r.describe(v), v.answer.Err
		if v.state != answered {
			if err = set.Nodes[i].Trouble(); err != nil {
				text += " (before: " + err.Error() + ")"
			}
		}
		e.text = append(e.text, set.Nodes[i].Name()+": "+text)
		if err != nil {
			e.errs = append(e.errs, err)
		}
	}
	return e
}

// describe tells one node's part in words.
func (r *round) describe(v vote) string {
	switch {
	case v.state == idle:
		return "not asked"
	case v.state == asked && r.op == Acquire || v.state == asked && r.op == Confirm:
		return fmt.Sprintf("no answer within %v", r.claim.set.Timeout)
	case v.state == asked:
		return "no answer"
	case v.answer.Err != nil:
		return v.answer.Err.Error()
	case v.answer.Verdict == Young:
		return fmt.Sprintf("may have lost its data, does not count for another %v", v.answer.Rest)
	case v.answer.Verdict == Refused && r.op == Confirm:
		return "its counter is larger"
	case v.answer.Verdict == Refused:
		return "held by another owner"
	case v.answer.Verdict == Gone:
		return "not there"
	}
	return "yes"
}
