package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/absent"
	fencemark "github.com/distlock-go/distlock/internal/mark"
	"github.com/distlock-go/distlock/internal/rediscall"
	"github.com/distlock-go/distlock/internal/redisscript"
	goredis "github.com/redis/go-redis/v9"
)

// FenceOptions say whose tokens a Fence takes and how its marks are named.
type FenceOptions struct {
	// Source names the lock service that the tokens come from, such as
	// "redis-eu": 1 to 128 bytes of printable ASCII. Required. A mark means
	// something only for the tokens of one service, so a mark of another source
	// is an error.
	Source string
	// Prefix begins the names of marks. Default DefaultPrefix. Up to 128 bytes
	// without braces and NUL.
	Prefix string
}

// A Fence is the resource's side of the check for resources that are keys in
// Redis. For each it keeps a mark, the largest token seen, and refuses smaller
// ones; the check and the write are one script. The tokens may come from any
// lock service. It protects the data from holders that are late; what it
// cannot do is outlive the server's data: a mark that a failover or an
// eviction loses accepts any token again.
//
// A mark lies in the resource's Cluster slot and has no expiry. Its name is
// PREFIX"fence:{"KEY"}:mark", or PREFIX"fence::"KEY":mark" where KEY has a hash
// tag of its own; one that has a closing brace without being a tag is
// ErrInvalid. By its end it is no lock's and no counter's, whatever their
// prefix. Each resource has its own mark: a new holder advances every resource
// it will touch before it reads any.
//
// The methods send one command each, and Reset two. They return
//   - nil: the write was carried out;
//   - an error that matches ErrStale: the token is smaller than the mark;
//   - one that matches ErrSource: the mark is another source's;
//   - one that matches ErrInvalid: the token is 0 or over 2^63-1, the key or
//     an argument is not usable, or the mark is damaged. In all these cases
//     nothing was changed;
//   - any other error. The server's own, such as WRONGTYPE, means that the
//     write failed, or was carried out in part by a script of several; the mark
//     may be raised. After an error of the network it is unknown whether it was
//     carried out. No request is repeated. A script's own errors must not begin
//     with FENCESTALE, FENCEMARK or NOSCRIPT.
//
// All are safe for concurrent use.
type Fence struct {
	client Processor
	source string
	prefix string
	err    error // of the arguments; told by every method
}

// A Processor is what a Fence needs of a go-redis client.
type Processor interface {
	Process(ctx context.Context, cmd goredis.Cmder) error
}

// NewFence returns a fence on client, which must reach the server that has the
// resources. Errors in the arguments are told by the first call.
func NewFence(client Processor, o FenceOptions) *Fence {
	f := &Fence{client: client, source: o.Source, prefix: DefaultPrefix}
	if o.Prefix != "" {
		f.prefix = o.Prefix
	}
	switch {
	case absent.Is(client):
		f.err = distlock.Invalid("client", "nil", "a go-redis client")
	case isPipeline(client):
		f.err = distlock.Invalid("client", "a pipeline", "a go-redis client, which answers at once")
	case isRing(client):
		f.err = distlock.Invalid("client", "a *redis.Ring", "a client of one server, of Sentinel or of a Cluster")
	default:
		if f.err = distlock.CheckSource(f.source); f.err == nil {
			f.err = redisscript.CheckPrefix(f.prefix)
		}
	}
	return f
}

func isPipeline(client any) bool {
	_, is := client.(goredis.Pipeliner)
	return is
}

// markSuffix ends the names of marks.
const markSuffix = ":mark"

// A Script is Lua that a Fence runs after its check, in the same step.
type Script struct{ script *redisscript.Script }

// NewScript returns the script with this source. It finds its keys and
// arguments in KEYS and ARGV, as if it ran by itself. Make it once: the server
// remembers each.
func NewScript(source string) *Script { return &Script{redisscript.Marked(source)} }

var (
	advance = NewScript(`return 1`)
	set     = NewScript(`return redis.call('SET', KEYS[1], ARGV[1])`)
	hset    = NewScript(`return redis.call('HSET', KEYS[1], unpack(ARGV))`)
)

// maxFields bounds HSet: Lua unpacks that many arguments and few more.
const maxFields = 1000

// Advance raises the mark of key to t: at take-over, before the first read.
func (f *Fence) Advance(ctx context.Context, key string, t distlock.Token) error {
	_, err := f.Eval(ctx, t, advance, []string{key})
	return err
}

// Reset makes the mark of key one of this fence's source that every token of it
// passes; those of the source before are errors from now on. It repairs a damaged
// mark too. Where others change the mark at the same time it takes it from another
// source, and leaves one that another Reset has brought. It is an operator's
// tool, for a move to another lock service, or after the present one was restored
// and hands out smaller tokens again. In the second case nothing but you can tell
// the old holders' tokens from the new ones, so end all holders first, or give the
// restored service another name.
func (f *Fence) Reset(ctx context.Context, key string) error {
	const first = 1 // the smallest token there is
	name, err := f.check(key, first)
	if err == nil {
		err = f.reset(ctx, name, f.source+" "+distlock.Token(first).String())
	}
	if err != nil {
		return f.failed(key, err)
	}
	return nil
}

// resetTries bounds how often Reset loses a race.
const resetTries = 100

// reset replaces what it has read and nothing else, so that one that arrives late
// undoes no later mark. It reads by the script too: GET may be sent to a replica.
func (f *Fence) reset(ctx context.Context, name, text string) error {
	var args []any // none yet: only read
	var r fencemark.Resetting
	for range resetTries {
		now, err := f.run(ctx, redisscript.Reset, []string{name}, args...)
		if err != nil || now == int64(1) {
			return err
		}
		there, is := now.(string)
		if r.IsDone(there, f.source) {
			return nil
		}
		args = []any{text}
		if is {
			args = append(args, there)
		}
	}
	return fencemark.ErrMoved
}

// Set sets key to value, without an expiry, unless t is stale. Value is
// anything that go-redis takes as an argument.
func (f *Fence) Set(ctx context.Context, key string, t distlock.Token, value any) error {
	_, err := f.Eval(ctx, t, set, []string{key}, value)
	return err
}

// HSet sets fields of the hash key, given as field, value, field, value, up to
// 1000 pairs, unless t is stale.
func (f *Fence) HSet(ctx context.Context, key string, t distlock.Token, fields ...any) error {
	if n := len(fields); n == 0 || n%2 != 0 || n > 2*maxFields {
		return f.failed(key, distlock.Invalid("number of fields and values", n, "even, from 2 to 2000"))
	}
	_, err := f.Eval(ctx, t, hset, []string{key}, fields...)
	return err
}

// Eval runs s, unless t is stale, and returns its reply as go-redis does for
// EVAL, goredis.Nil for a nil reply included. The first of keys, which must
// not be empty, is the resource whose mark is checked; on a Cluster all must
// be in one slot.
func (f *Fence) Eval(ctx context.Context, t distlock.Token, s *Script, keys []string, args ...any) (any, error) {
	if len(keys) == 0 {
		return nil, f.failed("", distlock.Invalid("number of keys", 0, "at least 1"))
	}
	mark, err := f.check(keys[0], t)
	if err != nil {
		return nil, f.failed(keys[0], err)
	}
	keys = append([]string{mark}, keys...)
	args = append([]any{f.source, t.String()}, args...)
	reply, err := f.run(ctx, s.script, keys, args...)
	if err != nil {
		return nil, f.failed(keys[1], f.refused(t, err))
	}
	return reply, nil
}

// run sends a script by its name, and whole to a server that does not know it.
func (f *Fence) run(ctx context.Context, s *redisscript.Script, keys []string, args ...any) (any, error) {
	cmd := rediscall.New(s.Words(false, keys, args...)...)
	err := f.client.Process(ctx, cmd)
	if isNoScript(err) {
		cmd = rediscall.New(s.Words(true, keys, args...)...)
		err = f.client.Process(ctx, cmd)
	}
	if err != nil {
		return nil, err
	}
	return cmd.Val(), nil
}

// check returns the name of key's mark.
func (f *Fence) check(key string, t distlock.Token) (mark string, err error) {
	if f.err != nil {
		return "", f.err
	}
	if err := distlock.CheckToken(t); err != nil {
		return "", err
	}
	return f.mark(key)
}

// mark returns the name of key's mark, which hashes to the same slot.
func (f *Fence) mark(key string) (string, error) {
	switch _, tag, found := strings.Cut(key, "{"); {
	case key == "":
		return "", distlock.Invalid("key", `""`, "at least 1 byte")
	case found && strings.IndexByte(tag, '}') > 0:
		return f.prefix + "fence::" + key + markSuffix, nil
	case strings.Contains(key, "}"):
		return "", distlock.Invalid("key", strconv.Quote(key), "without }, or with a hash tag in braces")
	}
	return f.prefix + "fence:{" + key + "}" + markSuffix, nil
}

// refused translates the answers of the check.
func (f *Fence) refused(t distlock.Token, err error) error {
	var answer goredis.Error
	if !errors.As(err, &answer) {
		return err
	}
	if last, ok := strings.CutPrefix(answer.Error(), "FENCESTALE "); ok {
		return fmt.Errorf("%w: %v is smaller than %s", distlock.ErrStale, t, last)
	}
	if mark, ok := strings.CutPrefix(answer.Error(), "FENCEMARK "); ok {
		return f.foreign(mark)
	}
	return err
}

// foreign is the error of a mark that is not this source's.
func (f *Fence) foreign(mark string) error {
	if i := strings.LastIndexByte(mark, ' '); i > 0 && mark[:i] != f.source {
		if _, err := distlock.ParseToken(mark[i+1:]); err == nil {
			return fencemark.Judge(mark[:i], 0, f.source, 0)
		}
	}
	return distlock.Invalid("mark", strconv.Quote(mark), "one of source "+strconv.Quote(f.source))
}

func (f *Fence) failed(key string, err error) error {
	if errors.Is(err, goredis.Nil) {
		return err
	}
	return fmt.Errorf("distlock: fence %q (redis): %w", key, err)
}
