// Package fencetest says what all fences have in common, and checks it: the fence
// in process, those of databases, of key/value stores and of objects. It imports the
// standard library only.
package fencetest

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
)

// A Fence is one to be tested, with tokens of one source. Each key is a resource that
// has a text for a content, the empty one if it was never written.
type Fence struct {
	// Advance raises the mark of key.
	Advance func(ctx context.Context, key string, t distlock.Token) error
	// Write sets the content of key, under the fence. Where the fence may ask for
	// another attempt, as a database does, Write makes it.
	Write func(ctx context.Context, key string, t distlock.Token, content string) error
	// Read returns the content of key as the last write left it.
	Read func(ctx context.Context, key string) (string, error)
	// Reset is the operator's. Nil: there is none, nor are there sources.
	Reset func(ctx context.Context, key string) error
	// LateReset is a Reset that is held up: between is called once, after it has read
	// the mark, or before all it does if it reads none, and before what it sends is
	// carried out. Nil: nobody can.
	LateReset func(ctx context.Context, key string, between func()) error
	// Fail makes a write to key that is refused for another reason than the token.
	// It is called after a write. Nil: there is no such write.
	Fail func(ctx context.Context, key string, t distlock.Token) error
}

// A Harness makes fences.
type Harness struct {
	// Open returns the fence of a source. All have the same resources and marks.
	Open func(source string) Fence
	// Spoil overwrites the mark of key, which is there, behind the fence's back, and
	// leaves the content. Nil: nobody can.
	Spoil func(ctx context.Context, key, text string) error
	// NoContext: the fence takes none.
	NoContext bool
	// RollsBack: a write that fails takes back that it has raised the mark.
	RollsBack bool
}

// patience bounds each case.
const patience = 2 * time.Minute

// Run checks every rule, each on keys of its own and beside the others.
func Run(t *testing.T, h Harness) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := c.check(ctx, bench{h, c.name + "-" + distlock.NewOwner().Text()[:8]}); err != nil {
				t.Errorf("%v\nthe rule: %s", err, c.rule)
			}
		})
	}
}

// A rule is one that all fences keep.
type rule struct {
	name  string
	rule  string
	check func(context.Context, bench) error
}

var cases = []rule{
	{"order", "a smaller token is stale, an equal one passes, a larger one passes and raises the mark", order},
	{"bounds", "tokens go from 1 to 2^63-1 and are compared as such, all of their digits", bounds},
	{"take-over", "once a token has been advanced, no smaller one writes, though nothing was written yet", takeOver},
	{"equal-after-lost-race", "the holder that advanced last goes on writing, whatever others try", holderGoesOn},
	{"keys", "each key has a mark of its own", keys},
	{"races", "between a take-over and the new holder's write nothing changes, whoever is under way", races},
	{"first", "of many first take-overs of a key at a time the largest token stays", first},
	{"together", "writes of one token at the same time all pass", together},
	{"failed-write", "a write that fails leaves the mark raised, or as it was where its transaction is rolled back", failedWrite},
	{"ended-context", "with a context that has ended nothing is written", endedContext},
	{"sources", "a token of another source is ErrSource, is compared with nothing and changes nothing", sources},
	{"reset", "Reset lets every token of its source in, and none of another, and keeps the content", reset},
	{"late-reset", "a Reset that arrives late takes the mark from another source or an old holder, and leaves one that another Reset has brought", lateReset},
	{"damage", "a mark that nobody wrote lets no token pass, and Reset repairs it", damage},
	{"message", "an error names the key", message},
}
