package zookeeper

import (
	"github.com/distlock-go/distlock"
	"github.com/go-zookeeper/zk"
)

// Held returns the condition that l still has its lock, for a transaction on
// the same ensemble:
//
//	_, err := conn.Multi(zklock.Held(lease), &zk.SetDataRequest{Path: "/balance", Data: data, Version: -1})
//
// All of it is done while the lock is l's, and nothing once it is not, however
// late the request arrives: then the error is zk.ErrNoNode. No other fence is
// needed for what the transaction writes. It checks that the lock's own node is
// there, whose name no other owner will ever have; the connection, which can be
// any, needs the right to read it. Whoever may delete the node can free the
// lock, so its path is not for logs. For a lease that is not of this package
// the condition is never met.
func Held(l *distlock.Lease) *zk.CheckVersionRequest {
	if l != nil {
		if n, ok := distlock.BackendState(l).(*node); ok {
			return &zk.CheckVersionRequest{Path: n.path, Version: -1}
		}
	}
	return &zk.CheckVersionRequest{Path: DefaultRoot + "/%never/of-another-package", Version: -1}
}
