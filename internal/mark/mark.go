// Package mark has what fences share: what a source is called, and how a token is
// judged. Of those of etcd, ZooKeeper and Consul it has all but the requests. Those
// stores compare versions and no numbers: so a mark is read, judged here, and
// replaced only if it is still the one that was read. A write is made conditional
// on the version in which the mark is the writer's own.
package mark

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/distlock-go/distlock"
)

// A mark is the largest token that a resource has seen, as the store has it:
// "SOURCE TOKEN".
type mark struct {
	source string
	token  distlock.Token // 0 after a Reset
}

func (m mark) text() string { return m.source + " " + m.token.String() }

// parse reads what text wrote, and nothing else.
func parse(text string) (mark, error) {
	i := strings.LastIndexByte(text, ' ')
	if i < 0 || distlock.CheckSource(text[:i]) != nil {
		return mark{}, damaged(text)
	}
	m := mark{source: text[:i]}
	if text[i+1:] == "0" {
		return m, nil
	}
	var err error
	if m.token, err = distlock.ParseToken(text[i+1:]); err != nil {
		return mark{}, damaged(text)
	}
	return m, nil
}

// Resetting is one call of a Reset, which reads the mark before each of its attempts.
type Resetting struct {
	begun bool
	first mark // that it read first; the zero mark if that was none, or damaged
}

// IsDone reports whether the mark that was read now, after an attempt that came too
// late, is that of another Reset: see Overtaken.
func (r *Resetting) IsDone(text, source string) bool {
	m, err := parse(text)
	if !r.begun {
		r.begun = true
		if err == nil {
			r.first = m
		}
		return false
	}
	return err == nil && Overtaken(source, r.first.source, r.first.token, m.source, m.token)
}

// Overtaken reports whether a Reset to source that has read one mark first and another
// now finds what another Reset has brought, or a holder after that: then it has nothing
// left to do, and must not undo it. A mark that holders have only raised goes on being in
// the way.
func Overtaken(source, firstOf string, first distlock.Token, nowOf string, now distlock.Token) bool {
	return nowOf == source && (firstOf != source || now < first)
}

func damaged(text string) error {
	return distlock.Invalid("mark", strconv.Quote(text), "a source and a token: see Reset")
}

// judge returns nil if n may take the place of m.
func (m mark) judge(n mark) error { return Judge(m.source, m.token, n.source, n.token) }

// Judge compares a token of source with a mark, which is of another source or not, and
// has the largest token seen. It returns nil if the token may pass.
func Judge(of string, largest distlock.Token, source string, t distlock.Token) error {
	if of != source {
		return fmt.Errorf("%w: the mark is of %q, the token of %q", distlock.ErrSource, of, source)
	}
	if t < largest {
		return fmt.Errorf("%w: %v is smaller than %v", distlock.ErrStale, t, largest)
	}
	return nil
}
