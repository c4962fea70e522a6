package redlock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/tasks"
	"github.com/distlock-go/distlock/redlock/internal/model"
	"github.com/distlock-go/distlock/redlock/internal/quorum"
	goredis "github.com/redis/go-redis/v9"
)

// modelled are the servers that the model is compared with: native commands in
// all combinations, and scripts.
var modelled = []string{
	"DISTLOCK_TEST_REDLOCK", "DISTLOCK_TEST_REDIS_NODELEX", "DISTLOCK_TEST_VALKEY81", "DISTLOCK_TEST_VALKEY91",
}

// The simulation of the protocol runs on a model of a node. It is one only as
// long as servers do what it does.
func TestServersDoWhatTheModelDoes(t *testing.T) {
	t.Parallel()
	for _, env := range modelled {
		for _, o := range []Options{{}, {Fenced: true}, {RestartDelay: time.Hour}, {Fenced: true, RestartDelay: time.Hour}} {
			t.Run(fmt.Sprintf("%s, fenced %v, delay %v", env, o.Fenced, o.RestartDelay), func(t *testing.T) {
				t.Parallel()
				if os.Getenv(env) == "" {
					if os.Getenv("DISTLOCK_TEST_REQUIRE") != "" {
						t.Fatalf("%s is not set", env)
					}
					t.Skipf("%s is not set: no server to test with (make test starts them)", env)
				}
				addr, _, _ := strings.Cut(os.Getenv(env), ",")
				rdb := goredis.NewClient(&goredis.Options{Addr: addr})
				t.Cleanup(func() { rdb.Close() })
				o.Prefix = "model-" + distlock.NewOwner().Text() + ":"
				compare(t, rdb, &o)
			})
		}
	}
}

// A pair is a server and its model.
type pair struct {
	rdb    *goredis.Client
	node   *node
	model  model.Node
	owners []distlock.Owner
	rng    *rand.Rand
	since  string
}

// compare gives both the same requests at random and compares the answers.
func compare(t *testing.T, rdb *goredis.Client, o *Options) {
	var lanes tasks.Group
	b := New([]goredis.UniversalClient{rdb}, o)
	seed := rand.Uint64()
	p := &pair{
		rdb: rdb, node: newNode(b, 0, &lanes), rng: rand.New(rand.NewPCG(seed, 0)), since: b.prefix + "since",
		model: model.Node{Fenced: o.Fenced, Delay: o.RestartDelay},
	}
	for range 3 {
		p.owners = append(p.owners, distlock.NewOwner())
	}
	for i := range 600 {
		if what := p.step(t); what != "" {
			t.Fatalf("seed %d, step %d: %s", seed, i, what)
		}
	}
	close(p.node.closing)
	lanes.Wait()
}

// step is one request. It returns what differs.
func (p *pair) step(t *testing.T) string {
	ctx := t.Context()
	lock := &quorum.Lock{
		Key: "{k}%", Owner: p.owners[p.rng.IntN(len(p.owners))], Holder: "a holder 1",
		Terms: distlock.Terms{TTL: time.Hour},
	}
	switch p.rng.IntN(40) {
	case 0:
		p.model.Lose()
		names := []string{p.since}
		for _, suffix := range []string{"", ":token"} {
			names = append(names, p.node.backend.prefix+"{%7Bk%7D%25}"+suffix)
		}
		if err := p.rdb.Del(ctx, names...).Err(); err != nil {
			t.Fatal(err)
		}
	case 1: // it grows old
		if p.model.Delay > 0 {
			p.model.Since = 1
			if err := p.rdb.Set(ctx, p.since, 1, 0).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := quorum.Request{Op: quorum.Op(p.rng.IntN(int(quorum.Release) + 1)), Lock: lock, Quiet: p.rng.IntN(2) == 0}
	r.Exact = p.model.Owner == lock.Owner && p.rng.IntN(2) == 0
	r.Token = p.model.Final
	if r.Op == quorum.Confirm || r.Op == quorum.Repair {
		if p.model.Fenced {
			r.Token = max(2, p.model.Counter+distlock.Token(p.rng.IntN(3))) - 1 // smaller, equal, larger
		} else if r.Op == quorum.Confirm {
			return ""
		}
	}
	return p.ask(ctx, r)
}

// ask sends r to both.
func (p *pair) ask(ctx context.Context, r quorum.Request) string {
	before := time.Now()
	done := make(chan quorum.Answer, 1)
	p.node.Do(r, func(a quorum.Answer) { done <- a })
	got := <-done
	now := time.Now().UnixMicro()
	counter := p.model.Counter
	want := p.model.Apply(r, now)
	if got.Verdict != want.Verdict || got.Final != want.Final || got.Other != want.Other || got.Err != nil {
		return fmt.Sprintf("%+v: got %+v, want %+v", r.Op, got, want)
	}
	if want.Verdict == quorum.Refused && r.Op == quorum.Acquire && got.Rest > time.Hour {
		return fmt.Sprintf("the holder has another %v, want at most its lifetime", got.Rest)
	}
	if r.Op != quorum.Acquire || !p.model.Fenced {
		return ""
	}
	// The server has minted by its own clock, at some time between.
	if want.Verdict == quorum.Done {
		clock := distlock.Token(before.Add(-time.Minute).UnixMicro())
		if got.Token <= counter || got.Token < clock || got.Token > max(counter+1, distlock.Token(now)+60e6) {
			return fmt.Sprintf("got token %v after counter %v, about %v", got.Token, counter, now)
		}
		p.model.Counter = got.Token
	} else if want.Verdict == quorum.Again && got.Token != counter {
		return fmt.Sprintf("got counter %v again, want %v", got.Token, counter)
	}
	return ""
}
