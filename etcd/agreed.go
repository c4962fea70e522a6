package etcd

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// agreed is an operation that makes a transaction one of the whole cluster. One that
// has no other, or only serializable reads, is answered by the member that it has
// reached from what that member has: one that is behind, or cut off, would compare with
// the past.
func agreed(name string) clientv3.Op { return clientv3.OpGet(name, clientv3.WithCountOnly()) }

// holds reports whether all conditions hold. Name is one of the keys that they are of.
func holds(ctx context.Context, kv clientv3.KV, name string, conditions ...clientv3.Cmp) (bool, error) {
	resp, err := kv.Txn(ctx).If(conditions...).Else(agreed(name)).Commit()
	return err == nil && resp.Succeeded, err
}
