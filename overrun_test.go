package distlock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// A function that ignores its ctx is reported while it runs on, and once more;
// one that stops within a second is not, nor one that is only slow to stop
// while its lease is valid.
func TestOverrunIsReported(t *testing.T) {
	const on, last = "overrun k token=1 past=1s returned=false", "overrun k token=1 past=10s returned=true"
	for name, test := range map[string]struct {
		ends func(b *memory.Backend, c *distlock.Client, cancel func())
		runs time.Duration // after the end of its ctx
		want []string
	}{
		"lost":             {func(b *memory.Backend, _ *distlock.Client, _ func()) { b.Expire("k") }, 10 * time.Second, []string{on, last}},
		"lost and stopped": {func(b *memory.Backend, _ *distlock.Client, _ func()) { b.Expire("k") }, time.Second / 2, nil},
		"closed": {
			func(_ *memory.Backend, c *distlock.Client, _ func()) { go c.Close(context.Background()) },
			10 * time.Second,
			[]string{on, last},
		},
		"ctx ended": {func(_ *memory.Backend, _ *distlock.Client, cancel func()) { cancel() }, time.Hour, nil},
	} {
		bubbleIn(t, name, func(t *testing.T) {
			var j journal
			b := memory.New()
			c := newClient(t, b, distlock.WithTrace(j.trace()))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_ = distlock.Do(ctx, c, "k", func(ctx context.Context, l *distlock.Lease) error {
				test.ends(b, c, cancel)
				<-ctx.Done()
				time.Sleep(test.runs)
				return nil
			})
			var got []string
			for _, line := range j.lines {
				if strings.HasPrefix(line, "overrun") {
					got = append(got, strings.Split(line, " err=")[0])
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
