package redlock

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/redisscript"
	"github.com/distlock-go/distlock/internal/tasks"
	"github.com/distlock-go/distlock/redlock/internal/quorum"
	goredis "github.com/redis/go-redis/v9"
)

// What a majority is, whoever has not answered.
func TestMajorityOfViews(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	silent := view{}
	free := view{answer: true}
	has := func(owner string, token distlock.Token, rest time.Duration) view {
		return view{answer: true, owner: owner, token: token, holder: "of " + owner, rest: rest}
	}
	none := distlock.LockInfo{}
	held := distlock.LockInfo{Held: true, Token: 7, Holder: "of a", Left: 20 * ms}
	kept := distlock.LockInfo{Left: 20 * ms}
	for name, c := range map[string]struct {
		views    []view
		unfenced bool
		want     distlock.LockInfo
		decided  bool
	}{
		"nobody has answered":      {views: []view{silent, silent, silent}},
		"all free":                 {views: []view{free, free, free}, want: none, decided: true},
		"free, one silent":         {views: []view{free, silent, free}, want: none, decided: true},
		"one has, one silent":      {views: []view{free, silent, has("a", 7, 20*ms)}},
		"a majority, one silent":   {views: []view{has("a", 7, 20*ms), silent, has("a", 7, 30*ms)}, want: held, decided: true},
		"until it is no majority":  {views: []view{has("a", 7, 20*ms), has("a", 7, 30*ms), has("a", 7, 10*ms)}, want: held, decided: true},
		"one not confirmed":        {views: []view{has("a", 7, 20*ms), free, has("a", 0, 30*ms)}, want: held, decided: true},
		"none confirmed":           {views: []view{has("a", 0, 20*ms), free, has("a", 0, 30*ms)}, want: kept, decided: true},
		"none confirmed, unfenced": {views: []view{has("a", 0, 20*ms), free, has("a", 0, 30*ms)}, unfenced: true, want: distlock.LockInfo{Held: true, Holder: "of a", Left: 20 * ms}, decided: true},
		"split":                    {views: []view{has("a", 7, 20*ms), has("b", 8, 20*ms), free}, want: none, decided: true},
		"split, one silent":        {views: []view{has("a", 7, 20*ms), has("b", 8, 20*ms), silent}},
		"broken":                   {views: []view{has(redisscript.Broken, 0, 20*ms), has(redisscript.Broken, 0, 30*ms), has("a", 7, 40*ms)}, want: kept, decided: true},
		"foreign":                  {views: []view{has(foreign, 0, 0), has(foreign, 0, 0), free}, want: none, decided: true},
		"four, two each":           {views: []view{has("a", 7, 20*ms), has("a", 7, 20*ms), free, free}, want: none, decided: true},
		"four, two and silent":     {views: []view{has("a", 7, 20*ms), has("a", 7, 20*ms), free, silent}},
	} {
		got, _, decided := majority(c.views, quorum.Majority(len(c.views)), !c.unfenced)
		got.Waiters = 0
		if decided != c.decided || decided && got != c.want {
			t.Errorf("%s: got %+v, %v; want %+v, %v", name, got, decided, c.want, c.decided)
		}
	}
}

// Stands for: a repair that was under way when the lock was broken gave the node
// back to the old holder, and with it a majority.
func TestRepairDoesNotBringABrokenLockBack(t *testing.T) {
	const env = "DISTLOCK_TEST_REDLOCK"
	if os.Getenv(env) == "" {
		if os.Getenv("DISTLOCK_TEST_REQUIRE") != "" {
			t.Fatalf("%s is not set", env)
		}
		t.Skipf("%s is not set: no servers to test with (make test starts them)", env)
	}
	var clients []goredis.UniversalClient
	for a := range strings.SplitSeq(os.Getenv(env), ",") {
		rdb := goredis.NewClient(&goredis.Options{Addr: a})
		t.Cleanup(func() { rdb.Close() })
		clients = append(clients, rdb)
	}
	b := New(clients, &Options{Prefix: "repair-" + distlock.NewOwner().Text() + ":", Fenced: true, NodeTimeout: 5 * time.Second})
	ctx := t.Context()
	terms := distlock.Terms{TTL: time.Minute}
	s, err := b.Open(ctx, terms)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(ctx)
	for _, delay := range []time.Duration{0, 50 * time.Millisecond} {
		r := distlock.Request{Key: "k", Owner: distlock.NewOwner(), Terms: terms}
		h, err := s.TryAcquire(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Break(ctx, r.Key, h.Token, delay); err != nil {
			t.Fatal(err)
		}
		for _, c := range clients { // until what kept the key has expired: then only the mark is left
			for end := time.Now().Add(30 * time.Second); c.Exists(ctx, b.prefix+"{k}").Val() > 0; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the lock-delay has no end")
				}
			}
		}
		var lanes tasks.Group
		lock := &quorum.Lock{Key: r.Key, Owner: r.Owner, Terms: terms}
		for i := range clients {
			n := newNode(b, i, &lanes)
			answers := make(chan quorum.Answer, 1)
			n.Do(quorum.Request{Op: quorum.Repair, Lock: lock, Token: h.Token}, func(a quorum.Answer) { answers <- a })
			if a := <-answers; a.Verdict != quorum.Refused {
				t.Errorf("Repair at node %d after a Break with delay %v: got %+v, want Refused", i, delay, a)
			}
			close(n.closing)
		}
		lanes.Wait()
		if err := s.(distlock.Renewer).Renew(ctx, []distlock.Hold{h})[0]; !errors.Is(err, distlock.ErrLost) {
			t.Errorf("Renew after a Break: got %v, want ErrLost", err)
		}
		if info, err := b.Inspect(ctx, r.Key); err != nil || info.Held {
			t.Errorf("after a Break with delay %v: got %+v, %v", delay, info, err)
		}
	}
}
