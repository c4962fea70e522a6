package consul

import (
	"context"
	"strconv"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/mark"
	"github.com/hashicorp/consul/api"
)

// DefaultMarks is what the names of marks begin with where FenceOptions say
// nothing.
const DefaultMarks = "distlock-fence/"

// maxOps is how many operations a transaction can have beside the check.
const maxOps = maxTxn - 1

// FenceOptions say whose tokens a Fence takes and where its marks are.
type FenceOptions struct {
	// Source names the lock service that the tokens come from, such as
	// "redis-eu": 1 to 128 bytes of printable ASCII. Required. A mark means
	// something only for the tokens of one service, so a mark of another source
	// is an error.
	Source string
	// Prefix begins the names of marks. Default DefaultMarks. It is limited as
	// Options.Prefix is. Neither it nor a prefix of locks may begin with the other,
	// or a mark and a lock can have one entry.
	Prefix string
}

// A Fence is the resource's side of the check for resources that are entries in
// Consul's key/value store. For each it keeps a mark, the largest token seen, and
// refuses smaller ones; the check and the writes are one transaction. The tokens may
// come from any lock service. Where the lock is in the same datacenter, [Held] does it
// without marks.
//
// Key names the resource, and is 1 to 512 bytes of UTF-8 without NUL; what a
// transaction writes need not have to do with its name. The mark is the entry PREFIX KEY,
// escaped as a lock's name, with the text "SOURCE TOKEN". Each resource has its own
// mark: a new holder advances every resource it will touch before it reads any, and those
// reads are consistent ones (api.QueryOptions.RequireConsistent). Who deletes a mark lets
// any token pass again; to restore a snapshot brings old marks back.
//
// The methods return
//   - nil: it was carried out;
//   - an error that matches distlock.ErrStale: the token is smaller than the mark;
//   - one that matches distlock.ErrSource: the mark is another source's;
//   - one that matches distlock.ErrInvalid: the token is 0 or over 2^63-1, another
//     argument is out of its bounds, or the mark is damaged. In all these cases
//     nothing was changed;
//   - any other error. Of a write whose answer was lost it says that its outcome is
//     unknown: the write was sent once and is not repeated. Else nothing was
//     written, and only the mark may be raised.
//
// A proxy between client and agent must not send a PUT again of its own accord, as
// some do after a time-out: the transaction could be carried out twice.
//
// A Fence costs one request for each transaction, as long as it remembers the
// mark's index, which it does of the last 4096 keys or so that it has advanced; else
// two, and three where the transaction is the one that raises the mark. Advance is one
// consistent read, and one write where it raises the mark.
//
// All methods are safe for concurrent use.
type Fence struct {
	store *marks
	marks *mark.Fence
}

// NewFence returns a fence in the datacenter and the namespace of client. Errors in the
// arguments are told by the first call.
func NewFence(client *api.Client, o FenceOptions) *Fence {
	s := &marks{Backend: New(client, &Options{Prefix: o.Prefix})}
	if o.Prefix == "" {
		s.opts.Prefix = DefaultMarks
	}
	var err error
	if client == nil {
		err = distlock.Invalid("client", "nil", "a client of package api")
	} else {
		err = checkPrefix(s.opts.Prefix)
	}
	return &Fence{s, mark.New("consul", o.Source, s, err)}
}

// Advance raises the mark of key to t: at take-over, before the first read.
func (f *Fence) Advance(ctx context.Context, key string, t distlock.Token) error {
	return f.marks.Advance(ctx, key, t)
}

// Txn carries ops out in one transaction, unless t is stale, and returns their
// results. There are 63 at most, since Consul takes 64. If the server refuses one
// of them, none is carried out: the error says why, the Errors of the response, counted from the
// first of ops, which it was, and the mark stays raised. After any other error there is no
// response.
func (f *Fence) Txn(ctx context.Context, key string, t distlock.Token, ops api.KVTxnOps) (*api.KVTxnResponse, error) {
	if len(ops) > maxOps {
		return nil, f.marks.Failed(key, distlock.Invalid("number of operations", len(ops), "at most "+strconv.Itoa(maxOps)))
	}
	for i, op := range ops {
		if op == nil {
			return nil, f.marks.Failed(key, distlock.Invalid("operation "+strconv.Itoa(i), "nil", "an operation"))
		}
	}
	var answer *api.KVTxnResponse
	err := f.marks.Write(ctx, key, t, func(version int64) (err error) {
		answer, err = f.store.txn(ctx, key, version, ops)
		return err
	})
	return answer, err
}

// Reset makes the mark of key one of this fence's source, at 0: every token of this
// source passes, and those of the source before are errors from now on. It repairs a
// damaged mark too. Where others change the mark at the same time it takes it from
// another source, and leaves one that another Reset has brought.
//
// It is an operator's tool, for a move to another lock service, or after the present one
// was restored from a backup and hands out smaller tokens again. In the second case
// nothing but you can tell the old holders' tokens from the new ones, so end all holders
// first, or give the restored service another name.
func (f *Fence) Reset(ctx context.Context, key string) error { return f.marks.Reset(ctx, key) }
