package redlock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/rediscall"
	"github.com/distlock-go/distlock/internal/redisreply"
	"github.com/distlock-go/distlock/internal/redisscript"
	"github.com/distlock-go/distlock/redlock/internal/quorum"
	goredis "github.com/redis/go-redis/v9"
)

var _ distlock.Inspector = (*Backend)(nil)

// Inspect asks all nodes, in one round trip each, or two where a node is not known
// yet, and tells which grant a majority of them has; with Options.Fenced its token. It
// waits for a majority that decides, and for the other nodes no longer than
// Options.NodeTimeout after that. An error tells what each node said, if those that
// answered leave it open who has the key.
//
// The nodes are not asked at one instant: the answer is that there was a majority
// while Inspect ran, or none. Left is until that majority is none any more. A key
// that an attempt is about to take, or has taken in vain from a minority, is shown
// as free. Waiters are those that listen at one node, the largest such number, and
// include clients that have given up less than a second or so ago; -1 where the
// nodes' clients are no *redis.Client.
func (b *Backend) Inspect(ctx context.Context, key string) (distlock.LockInfo, error) {
	info, _, err := b.inspect(ctx, key)
	return info, err
}

// inspect returns the owner of the grant, too.
func (b *Backend) inspect(ctx context.Context, key string) (i distlock.LockInfo, owner string, err error) {
	lock := redisscript.LockName(b.prefix, key)
	views := make([]view, len(b.clients))
	err = b.askAll(ctx, "cannot tell who has the key", func(n int) question {
		counts := 0
		if _, plain := b.clients[n].(*goredis.Client); plain {
			counts = 1
		}
		return question{redisscript.Inspect, []string{lock, lock + redisscript.ChannelSuffix}, []any{counts}}
	}, func(n int, reply any, err error) (decided bool) {
		views[n] = read(reply, err)
		i, owner, decided = majority(views, quorum.Majority(len(views)), b.fenced)
		return decided
	})
	if err == nil && owner == foreign {
		err = fmt.Errorf("%w: another value is there, on a majority of the nodes", distlock.ErrForeign)
	}
	return i, owner, err
}

// Break ends the grant of key that has token t, which a majority of the nodes must
// have and a majority must give up; it asks all of them. Without Options.Fenced it is
// never asked. A node that has done so does not take the grant back from a repair
// that is under way. If too few nodes answer, the error tells what each said; those
// that have given the grant up stay so, and to ask again is safe.
func (b *Backend) Break(ctx context.Context, key string, t distlock.Token, delay time.Duration) error {
	info, owner, err := b.inspect(ctx, key)
	if err != nil {
		return err
	}
	stale := fmt.Errorf("%w: that grant does not have the key", distlock.ErrStale)
	if !info.Held || info.Token != t {
		return stale
	}
	lock := redisscript.LockName(b.prefix, key)
	var ended, without int
	err = b.askAll(ctx, "no majority has ended the grant", func(int) question {
		return question{
			redisscript.Revoke,
			[]string{lock, lock + redisscript.BrokenSuffix, lock + redisscript.ChannelSuffix},
			[]any{owner, redisscript.Millis(delay)},
		}
	}, func(_ int, reply any, _ error) bool {
		switch reply {
		case int64(1):
			ended++
		case int64(0):
			without++
		}
		return max(ended, without) >= quorum.Majority(len(b.clients))
	})
	if err == nil && without > ended {
		return stale // it was given up meanwhile
	}
	return err
}

// A view is what one node has of a key.
type view struct {
	owner   string // "", or foreign, or redisscript.Broken: nobody. A secret
	answer  bool   // false: it has not answered
	token   distlock.Token
	holder  string
	rest    time.Duration
	waiters int
}

// foreign stands for the owner of what is none of the library's.
const foreign = "foreign"

// read takes in a node's answer.
func read(reply any, err error) view {
	fields, _ := reply.([]any)
	switch {
	case redisreply.Begins(err, "WRONGTYPE"):
		return view{owner: foreign, answer: true, waiters: -1}
	case err != nil || len(fields) != 3:
		return view{}
	}
	rest, _ := fields[1].(int64)
	waiters, _ := fields[2].(int64)
	v := view{answer: true, rest: time.Duration(rest) * time.Millisecond, waiters: int(waiters)}
	text, there := fields[0].(string)
	value, ours := redisscript.ParseValue(text)
	switch {
	case !there:
	case ours:
		v.owner, v.token, v.holder = value.Owner, distlock.Token(value.Token), value.Holder
	case text == redisscript.Broken:
		v.owner = redisscript.Broken
	default:
		v.owner = foreign
	}
	return v
}

// majority tells who has the key on as many nodes as it needs, or that nobody can,
// whatever those say that have not answered.
func majority(views []view, need int, fenced bool) (i distlock.LockInfo, owner string, decided bool) {
	most, silent := 0, 0
	i.Waiters = -1
	by := make(map[string][]view)
	for _, v := range views {
		if !v.answer {
			silent++
			continue
		}
		i.Waiters = max(i.Waiters, v.waiters)
		by[v.owner] = append(by[v.owner], v)
		if n := len(by[v.owner]); n > most {
			most, owner = n, v.owner
		}
	}
	if most < need {
		return distlock.LockInfo{Waiters: i.Waiters}, "", most+silent < need
	}
	group := by[owner]
	slices.SortFunc(group, func(a, b view) int { return cmp.Compare(b.rest, a.rest) })
	i.Left = group[need-1].rest
	for _, v := range group {
		i.Token, i.Holder = max(i.Token, v.token), v.holder
	}
	switch {
	case owner == "" || owner == foreign:
		return distlock.LockInfo{Waiters: i.Waiters}, owner, true
	case owner == redisscript.Broken || fenced && i.Token == 0: // not confirmed: no grant yet
		return distlock.LockInfo{Waiters: i.Waiters, Left: i.Left}, owner, true
	}
	i.Held = true
	i.Left = max(i.Left, 1)
	return i, owner, true
}

// A question is a script for one node.
type question struct {
	script *redisscript.Script
	keys   []string
	args   []any
}

// askAll asks every node its question, one round trip each, outside of any session.
// It returns nil once enough, which is told each answer in turn, says so, and the
// other nodes have answered or had their time. Those that have not are left to their
// clients' time-outs.
func (b *Backend) askAll(ctx context.Context, what string, ask func(int) question, enough func(int, any, error) bool) error {
	type answer struct {
		node  int
		reply any
		err   error
	}
	answers := make(chan answer, len(b.clients)) // no sender waits
	text, errs := make([]string, len(b.clients)), make([]error, len(b.clients))
	for n := range b.clients {
		text[n] = b.name(n) + ": no answer"
		go func() { // ends with its call
			reply, err := b.ask(ctx, n, ask(n))
			answers <- answer{n, reply, err}
		}()
	}
	decided := false
	var late <-chan time.Time // once it is decided
	for range b.clients {
		select {
		case a := <-answers:
			text[a.node], errs[a.node] = b.name(a.node)+": answered", a.err
			if a.err != nil {
				text[a.node] = b.name(a.node) + ": " + a.err.Error()
			}
			decided = enough(a.node, a.reply, a.err) || decided
		case <-late:
			return nil
		case <-ctx.Done():
			return saidAll(what, text, append(errs, ctx.Err()))
		}
		if decided && late == nil {
			t := time.NewTimer(b.timeout)
			defer t.Stop()
			late = t.C
		}
	}
	if decided {
		return nil
	}
	return saidAll(what, text, errs)
}

// saidAll is the error that tells of each node what it said. Errs may have nils.
func saidAll(what string, text []string, errs []error) error {
	return quorum.Said(what, text, slices.DeleteFunc(errs, func(err error) bool { return err == nil }))
}

// ask asks node n. A connection that turns out to be closed is replaced: the scripts
// answer a second copy as they did the first.
func (b *Backend) ask(ctx context.Context, n int, q question) (any, error) {
	c := bounded(b.clients[n])
	if err := b.known(ctx, n, c); err != nil {
		return nil, err
	}
	var cmd rediscall.Command
	for tries, whole := 0, false; tries < 3; tries++ {
		cmd = rediscall.New(q.script.Words(whole, q.keys, q.args...)...)
		_ = c.Process(ctx, cmd)
		if redisreply.Begins(cmd.Err(), "NOSCRIPT") {
			whole = true
		} else if !redisreply.IsBroken(cmd.Err()) {
			break
		}
	}
	return cmd.Result()
}

// known asks node n who it is, if that is not known: two nodes that are one server
// are no two nodes.
func (b *Backend) known(ctx context.Context, n int, c rediscall.Client) error {
	b.mu.Lock()
	known := b.runIDs[n] != ""
	b.mu.Unlock()
	if known {
		return b.sameTwice()
	}
	id, err := askIdentity(ctx, c)
	if redisreply.IsBroken(err) {
		id, err = askIdentity(ctx, c)
	}
	if err != nil {
		return err
	}
	return b.register(n, id.RunID)
}
