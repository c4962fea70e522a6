package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/memory"
)

// One of two leads; when it is told to stop the other one does, at once.
func TestLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := memory.New()
		type candidate struct {
			out  bytes.Buffer
			stop context.CancelFunc
			end  chan error
		}
		var all [2]candidate
		for i := range all {
			c := &all[i]
			c.end = make(chan error, 1)
			ctx, cancel := context.WithCancel(t.Context())
			c.stop = cancel
			go func() { c.end <- run(ctx, b, time.Minute, &c.out) }()
			synctest.Wait() // the first one leads
		}
		time.Sleep(150 * time.Second)
		for i := range all {
			c := &all[i]
			c.stop()
			if err := <-c.end; err != nil {
				t.Errorf("candidate %d: %v", i, err)
			}
			time.Sleep(150 * time.Second)
			synctest.Wait()
		}
		want := [2]string{
			"leading, token 1\nworking\nworking\nnot leading any more\n",
			"leading, token 2\nworking\nworking\nnot leading any more\n",
		}
		for i := range all {
			if got := all[i].out.String(); got != want[i] {
				t.Errorf("candidate %d: got %q, want %q", i, got, want[i])
			}
		}
	})
}

func TestLeaderTellsOfAServiceThatIsDown(t *testing.T) {
	t.Parallel()
	b := memory.New()
	b.SetHooks(memory.Hooks{Before: func(context.Context, memory.Op, string) error { return context.DeadlineExceeded }})
	err := run(t.Context(), b, time.Minute, new(bytes.Buffer))
	if err == nil || !strings.Contains(err.Error(), "ping") {
		t.Errorf("got %v, want what Ping says", err)
	}
}
