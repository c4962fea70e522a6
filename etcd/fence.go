package etcd

import (
	"context"
	"errors"
	"strconv"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/absent"
	"github.com/distlock-go/distlock/internal/mark"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// DefaultMarks is what the names of marks begin with where FenceOptions say
// nothing.
const DefaultMarks = "distlock-fence/"

// FenceOptions say whose tokens a Fence takes and where its marks are.
type FenceOptions struct {
	// Source names the lock service that the tokens come from, such as
	// "redis-eu": 1 to 128 bytes of printable ASCII. Required. A mark means
	// something only for the tokens of one service, so a mark of another source
	// is an error.
	Source string
	// Prefix begins the names of marks, as it is. Default DefaultMarks. Up to 256
	// bytes. Neither it nor what a Backend's Options.Prefix says may begin with the
	// other.
	Prefix string
}

// A Fence is the resource's side of the check for resources that are keys in
// etcd. For each it keeps a mark, the largest token seen, and refuses smaller ones;
// the check and the writes are one transaction. The tokens may come from any lock
// service. Where the lock is in the same cluster, [Held] does it without marks.
//
// Key names the resource, and is 1 to 512 bytes of UTF-8 without NUL; what a
// transaction writes need not have to do with its name. The mark is the key PREFIX KEY,
// without a lease, and has the text "SOURCE TOKEN". Each resource has its own mark: a new
// holder advances every resource it will touch before it reads any. Who deletes a mark
// lets any token pass again; to restore a snapshot brings old marks back.
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
// A Fence costs one round trip for each transaction, as long as it remembers the
// mark's revision, which it does of the last 4096 keys or so that it has advanced; else
// two, and three where the transaction is the one that raises the mark. Advance is one
// read, and one write where it raises the mark.
//
// All methods are safe for concurrent use.
type Fence struct {
	store *marks
	marks *mark.Fence
}

// NewFence returns a fence on the cluster that kv, such as a *clientv3.Client,
// speaks to. Errors in the arguments are told by the first call.
func NewFence(kv clientv3.KV, o FenceOptions) *Fence {
	s := &marks{kv: kv, prefix: DefaultMarks}
	if o.Prefix != "" {
		s.prefix = o.Prefix
	}
	var err error
	if absent.Is(kv) {
		err = distlock.Invalid("client", "nil", "an etcd client")
	} else if len(s.prefix) > maxPrefix {
		err = distlock.Invalid("prefix", strconv.Quote(s.prefix), "up to "+strconv.Itoa(maxPrefix)+" bytes")
	}
	return &Fence{s, mark.New("etcd", o.Source, s, err)}
}

// Advance raises the mark of key to t: at take-over, before the first read.
func (f *Fence) Advance(ctx context.Context, key string, t distlock.Token) error {
	return f.marks.Advance(ctx, key, t)
}

// Txn carries ops out in one transaction, unless t is stale, and returns its answer,
// which is nil after an error. A clientv3.OpTxn among ops has conditions of its own. If
// the server refuses ops, the mark stays raised. Etcd takes 128 ops unless its
// --max-txn-ops says otherwise, and each key once.
func (f *Fence) Txn(ctx context.Context, key string, t distlock.Token, ops ...clientv3.Op) (*clientv3.TxnResponse, error) {
	for i, op := range ops {
		if !op.IsPut() && !op.IsGet() && !op.IsDelete() && !op.IsTxn() {
			return nil, f.marks.Failed(key, distlock.Invalid("operation "+strconv.Itoa(i), "none", "one of package clientv3"))
		}
	}
	var answer *clientv3.TxnResponse
	err := f.marks.Write(ctx, key, t, func(version int64) (err error) {
		answer, err = f.store.txn(ctx, key, version, ops...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
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

// marks are those of a Fence. Their version is the revision of their last change.
type marks struct {
	kv     clientv3.KV
	prefix string
}

func (m *marks) Read(ctx context.Context, key string) (text string, version int64, err error) {
	resp, err := m.kv.Get(ctx, m.prefix+key)
	if err != nil || len(resp.Kvs) == 0 {
		return "", 0, timely(ctx, err)
	}
	return string(resp.Kvs[0].Value), resp.Kvs[0].ModRevision, nil
}

func (m *marks) Swap(ctx context.Context, key, text string, version int64) (now int64, err error) {
	resp, err := m.txn(ctx, key, version, clientv3.OpPut(m.prefix+key, text))
	if err != nil {
		return 0, err
	}
	return resp.Header.Revision, nil
}

// Refused knows also the answer to a put under a lease that is gone.
func (m *marks) Refused(err error) bool {
	return isRefusal(err) || errors.Is(err, rpctypes.ErrLeaseNotFound)
}

// txn carries ops out if the mark of key is in this version. The client sends it
// again only where it was never sent.
func (m *marks) txn(ctx context.Context, key string, version int64, ops ...clientv3.Op) (*clientv3.TxnResponse, error) {
	unmoved := clientv3.Compare(clientv3.ModRevision(m.prefix+key), "=", version)
	resp, err := m.kv.Txn(ctx).If(unmoved).Then(ops...).Else(agreed(m.prefix + key)).Commit()
	if err == nil && !resp.Succeeded {
		err = mark.ErrMoved
	}
	return resp, timely(ctx, err)
}
