package etcd

import (
	"github.com/distlock-go/distlock"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Held returns the condition that l still has its lock, for a transaction on
// the same cluster:
//
//	cli.Txn(ctx).If(etcdlock.Held(lease)).Then(clientv3.OpPut(…)).Commit()
//
// What is in Then is done only while the lock is l's, however late the request
// arrives: no other fence is needed for it. Not Succeeded means that l has
// been lost or released. A transaction that does nothing, or only reads WithSerializable,
// is answered by one member, which may be behind: put an ordinary read into its Else
// where the answer alone matters. The condition compares the mod revision of the lock's key with l's
// token: the key is never written after its creation but by who breaks the lock. So
// the client must see keys as the lock's client does: in the same namespace, with
// read access. For a lease that is not of this
// package the condition is never met.
func Held(l *distlock.Lease) clientv3.Cmp {
	if l != nil {
		if g, ok := distlock.BackendState(l).(*grant); ok {
			return isUntouched(g.name, g.created)
		}
	}
	return clientv3.Compare(clientv3.ModRevision(DefaultPrefix), "=", -1) // no key has it
}

// isUntouched is the condition that the key of that name was created at the revision,
// and that nobody has written it since. The create revision alone would be that of a
// lock that was broken too, see Backend.Break.
func isUntouched(name string, created int64) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(name), "=", created)
}
