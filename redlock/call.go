package redlock

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/rediscall"
	"github.com/distlock-go/distlock/internal/redisreply"
	"github.com/distlock-go/distlock/internal/redisscript"
	"github.com/distlock-go/distlock/redlock/internal/quorum"
	goredis "github.com/redis/go-redis/v9"
)

// A call is one request on its way through a lane.
type call struct {
	req    quorum.Request
	answer func(quorum.Answer)

	how   how
	sent  bool // once, in vain: the connection broke
	cmd   rediscall.Command
	other string             // the answer to a native Acquire, while the rest of the holder's lifetime is asked for
	wake  *rediscall.Command // beside a native Release
}

// how a call is carried out.
type how int

const (
	native  how = iota // by the server's own commands, where it has them
	byName             // by a script that the server should know
	byWhole            // by the same script, sent along
	rest               // PTTL, after a native Acquire
)

// prepare makes the commands for the server that the node is.
func (c *call) prepare(b *Backend, id *identity) {
	name := redisscript.LockName(b.prefix, c.req.Lock.Key)
	c.wake = nil
	if c.how == rest {
		c.cmd = rediscall.New("pttl", name)
		return
	}
	if c.how == native && !c.prepareNative(b, id, name) {
		c.how = byName
	}
	if c.how != native {
		c.cmd = c.script(b, name)
	}
}

// value is all that a node has of the lock under final.
func value(l *quorum.Lock, final distlock.Token) string {
	return l.Owner.Text() + " " + strconv.FormatUint(uint64(final), 10) + " " + l.Holder
}

// prepareNative reports whether a command of the server's own will do.
func (c *call) prepareNative(b *Backend, id *identity, name string) bool {
	l := c.req.Lock
	switch c.req.Op {
	case quorum.Acquire:
		if !id.setGet || b.fenced || b.delay > 0 {
			return false
		}
		c.cmd = rediscall.New("set", name, value(l, 0), "nx", "get", "px", redisscript.Millis(l.Terms.Lifetime()))
	case quorum.Renew:
		if !id.SetIfEq || !c.req.Exact {
			return false
		}
		v := value(l, c.req.Token)
		c.cmd = rediscall.New("set", name, v, "ifeq", v, "px", redisscript.Millis(l.Terms.Lifetime()))
	case quorum.Release:
		if id.Delete == "" || !c.req.Exact {
			return false
		}
		if v := value(l, c.req.Token); id.Delete == redisreply.Delex {
			c.cmd = rediscall.New(redisreply.Delex, name, "ifeq", v)
		} else {
			c.cmd = rediscall.New(redisreply.Delifeq, name, v)
		}
		if !c.req.Quiet {
			wake := rediscall.New("publish", name+redisscript.ChannelSuffix, "")
			c.wake = &wake
		}
	default:
		return false
	}
	return true
}

// script is the command that runs the script for the request.
func (c *call) script(b *Backend, name string) rediscall.Command {
	l := c.req.Lock
	owner, lifetime := l.Owner.Text(), redisscript.Millis(l.Terms.Lifetime())
	var keep int64
	if b.fenced {
		keep = redisscript.Millis(redisscript.CounterKept(l.Terms.TTL))
	}
	var s *redisscript.Script
	var keys []string
	var args []any
	counter, since := name+redisscript.CounterSuffix, b.prefix+"since"
	switch c.req.Op {
	case quorum.Acquire:
		s, keys = redisscript.Vote, []string{name, counter, since}
		args = []any{owner, l.Holder, lifetime, keep, redisscript.Millis(b.delay)}
	case quorum.Confirm:
		s, keys = redisscript.Confirm, []string{name, counter}
		args = []any{owner, uint64(c.req.Token), keep}
	case quorum.Renew:
		s, keys, args = redisscript.Renew, []string{name}, []any{owner, lifetime}
	case quorum.Repair:
		s, keys = redisscript.Repair, []string{name, counter, since, name + redisscript.BrokenSuffix}
		args = []any{owner, l.Holder, lifetime, keep, redisscript.Millis(b.delay), uint64(c.req.Token)}
	case quorum.Release:
		s, keys, args = redisscript.Release, []string{name, name + redisscript.ChannelSuffix}, []any{owner}
	}
	return rediscall.New(s.Words(c.how == byWhole, keys, args...)...)
}

// settle reads the answer. With again, the call is to be sent once more, as it
// is now.
func (c *call) settle(n *node) (a quorum.Answer, again bool) {
	v, err := c.cmd.Result()
	switch {
	case err == nil || errors.Is(err, goredis.Nil):
	case redisreply.Begins(err, "NOSCRIPT") && c.how == byName:
		c.how = byWhole
		return a, true
	case redisreply.Begins(err, "ERR unknown command", "ERR syntax error", "ERR wrong number of arguments") && c.how == native:
		c.how = byName // after a failover to an older version; the identity will be asked anew
		n.forget()
		return a, true
	case redisreply.IsBroken(err) && !c.sent:
		c.sent = true
		return a, true
	case redisreply.IsAnswer(err) || redisreply.IsUnsent(err):
		return c.unsent(err), false
	default:
		return quorum.Answer{Verdict: quorum.Failed, Err: err}, false
	}
	if c.how == native && c.req.Op == quorum.Acquire {
		return c.settleSet(v)
	}
	if c.how == rest {
		left, _ := v.(int64)
		return quorum.Answer{Verdict: quorum.Refused, Other: c.other, Rest: milliseconds(left), Doubt: c.sent}, false
	}
	a, err = c.read(v)
	if err != nil {
		a = quorum.Answer{Verdict: quorum.Failed, Err: err}
	}
	a.Doubt = c.sent && (c.req.Op == quorum.Acquire || c.req.Op == quorum.Repair)
	if c.sent && c.req.Op == quorum.Release && a.Verdict == quorum.Gone {
		a = quorum.Answer{Verdict: quorum.Failed, Err: errGone}
	}
	return a, false
}

// unsent is the answer where this copy of the request was not carried out. If there
// was one before, that may have been.
func (c *call) unsent(err error) quorum.Answer {
	if c.sent {
		return quorum.Answer{Verdict: quorum.Failed, Err: err}
	}
	return quorum.Answer{Verdict: quorum.Declined, Err: err}
}

// errGone leaves it open who has given the lock up.
var errGone = errors.New("nothing there any more; an earlier copy of the request may have released it")

// settleSet reads the answer to SET … NX GET: what was there before.
func (c *call) settleSet(v any) (a quorum.Answer, again bool) {
	was, there := v.(string)
	own := c.req.Lock.Owner.Text()
	switch {
	case !there:
		return quorum.Answer{Verdict: quorum.Done, Doubt: c.sent}, false
	case len(was) >= len(own) && was[:len(own)] == own:
		return quorum.Answer{Verdict: quorum.Again, Doubt: c.sent}, false
	}
	c.how, c.other = rest, was[:min(len(was), len(own))]
	return a, true
}

func milliseconds(n int64) time.Duration { return time.Duration(max(n, 0)) * time.Millisecond }

// read reads the answer to a script or to another native command.
func (c *call) read(v any) (quorum.Answer, error) {
	if c.req.Op == quorum.Acquire {
		return readVote(v)
	}
	verdict := quorum.Done
	switch v {
	case nil, int64(0):
		verdict = quorum.Gone
	case int64(2):
		verdict = quorum.Refused
	case int64(1), "OK":
	default:
		return quorum.Answer{}, fmt.Errorf("unexpected reply %T", v)
	}
	return quorum.Answer{Verdict: verdict}, nil
}

// readVote reads the answer of the vote script.
func readVote(v any) (a quorum.Answer, err error) {
	fields, _ := v.([]any)
	if len(fields) < 2 {
		return a, fmt.Errorf("vote script: unexpected reply %T", v)
	}
	number := func(i int) (n uint64) {
		text, _ := fields[i].(string)
		n, e := strconv.ParseUint(text, 10, 63)
		if e != nil {
			err = fmt.Errorf("vote script: %w", e)
		}
		return n
	}
	left, _ := fields[1].(int64)
	switch code, _ := fields[0].(int64); {
	case code == 0:
		a = quorum.Answer{Verdict: quorum.Done, Token: distlock.Token(number(1))}
	case code == 1 && len(fields) == 3:
		a = quorum.Answer{Verdict: quorum.Again, Token: distlock.Token(number(1)), Final: distlock.Token(number(2))}
	case code == 2 && len(fields) == 3:
		other, _ := fields[2].(string)
		a = quorum.Answer{Verdict: quorum.Refused, Rest: milliseconds(left), Other: other}
	case code == 3:
		a = quorum.Answer{Verdict: quorum.Young, Rest: milliseconds(left)}
	default:
		err = errors.New("vote script: unexpected reply")
	}
	return a, err
}
