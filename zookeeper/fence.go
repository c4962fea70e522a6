package zookeeper

import (
	"context"
	"fmt"
	"strconv"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/mark"
	"github.com/go-zookeeper/zk"
)

// DefaultMarks is the node under which marks are kept where FenceOptions say
// nothing.
const DefaultMarks = "/distlock-fence"

// FenceOptions say whose tokens a Fence takes and where its marks are.
type FenceOptions struct {
	// Source names the lock service that the tokens come from, such as
	// "redis-eu": 1 to 128 bytes of printable ASCII. Required. A mark means
	// something only for the tokens of one service, so a mark of another source
	// is an error.
	Source string
	// Root is the node under which the marks are. Default DefaultMarks. It is
	// created if it is missing. Up to 256 bytes; not "/" itself, and not the Root
	// of locks.
	Root string
	// ACL is given to every node that is created. Default: everybody may do
	// everything, which is zk.WorldACL(zk.PermAll). All users of the fence need
	// read, write and create.
	ACL []zk.ACL
}

// A Fence is the resource's side of the check for resources that are nodes in
// ZooKeeper. For each it keeps a mark, the largest token seen, and refuses smaller
// ones; the check and the writes are one multi. The tokens may come from any lock
// service. Where the lock is in the same ensemble, [Held] does it without marks.
//
// Key names the resource, and is 1 to 512 bytes of UTF-8 without NUL; what a
// transaction writes need not have to do with its name. The mark is the persistent node
// ROOT/ESCAPED-KEY, escaped as a lock's, with the text "SOURCE TOKEN". Each resource
// has its own mark: a new holder advances every resource it will touch before it reads
// any, and those reads begin with a Sync, since the server that answers them may be
// behind the one that has the last write. A mark must never be deleted: what is compared
// is the node's version, which then begins anew, so that even a holder that was refused
// may pass. Use Reset.
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
// The client library knows no context. When ctx ends first, the request goes on by
// itself, in a goroutine that ends with the answer or the connection.
//
// A Fence costs one round trip for each transaction, as long as it remembers the
// mark's version, which it does of the last 4096 keys or so that it has advanced; else
// three, and four where the transaction is the one that raises the mark. Advance is two
// (a write that changes nothing, and a read behind it), and one write where it raises
// the mark.
//
// All methods are safe for concurrent use.
type Fence struct {
	store *marks
	marks *mark.Fence
}

// NewFence returns a fence on the ensemble that conn, which stays the caller's to
// close, is connected to. Errors in the arguments are told by the first call.
func NewFence(conn *zk.Conn, o FenceOptions) *Fence {
	s := &marks{conn: conn, root: DefaultMarks, acl: zk.WorldACL(zk.PermAll)}
	if o.Root != "" {
		s.root = o.Root
	}
	if len(o.ACL) > 0 {
		s.acl = o.ACL
	}
	err := checkRoot(s.root)
	if conn == nil {
		err = distlock.Invalid("connection", "nil", "one of package zk")
	}
	return &Fence{s, mark.New("zookeeper", o.Source, s, err)}
}

// Advance raises the mark of key to t: at take-over, before the first read.
func (f *Fence) Advance(ctx context.Context, key string, t distlock.Token) error {
	return f.marks.Advance(ctx, key, t)
}

// Multi carries ops out in one transaction, unless t is stale, and returns their
// results. Ops are those of zk.Conn.Multi: *zk.CreateRequest, *zk.DeleteRequest,
// *zk.SetDataRequest and *zk.CheckVersionRequest. If the server refuses one of them, none is
// carried out: the error is the server's, such as zk.ErrBadVersion, the results
// say which it was, and the mark stays raised. After any other error there are no results.
func (f *Fence) Multi(ctx context.Context, key string, t distlock.Token, ops ...any) ([]zk.MultiResponse, error) {
	for i, op := range ops {
		switch op.(type) {
		case *zk.CreateRequest, *zk.DeleteRequest, *zk.SetDataRequest, *zk.CheckVersionRequest:
		default:
			return nil, f.marks.Failed(key,
				distlock.Invalid("operation "+strconv.Itoa(i), fmt.Sprintf("%T", op), "one that zk.Conn.Multi takes"))
		}
	}
	var results []zk.MultiResponse
	err := f.marks.Write(ctx, key, t, func(version int64) (err error) {
		results, err = f.store.multi(ctx, key, version, ops...)
		return err
	})
	return results, err
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
