package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/distlock-go/distlock"
	etcdlock "github.com/distlock-go/distlock/etcd"
	"github.com/distlock-go/distlock/internal/value"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// handOnce does what once does by the lock's two transactions alone, on the user's client:
// no waiting, no renewal, no bound of a request. What it costs over the floor is what a
// queue that others can stand in, and an owner that nobody else has, cost: no client can
// save that.
func (p *etcdProcess) handOnce(ctx context.Context, key string, g *guard) error {
	dir := etcdlock.DefaultPrefix + key + "/"
	name := dir + strconv.FormatInt(int64(p.floor), 16)
	request := distlock.Request{Key: key, Owner: distlock.NewOwner()}
	revision := int64(0)
	for revision == 0 {
		r, err := p.cli.Txn(ctx).If(
			clientv3.Compare(clientv3.LeaseValue(dir).WithPrefix(), "=", clientv3.NoLease),
			clientv3.Compare(clientv3.CreateRevision(name), "=", 0),
		).Then(clientv3.OpPut(name, value.Of(request), clientv3.WithLease(p.floor))).Else(clientv3.OpGet(name)).Commit()
		switch {
		case err != nil:
			return err
		case r.Succeeded:
			revision = r.Header.Revision
		}
	}
	err := errors.Join(g.enter(distlock.Token(revision)), g.leave())
	r, rerr := p.cli.Txn(ctx).If(
		clientv3.Compare(clientv3.CreateRevision(name), "=", revision),
		clientv3.Compare(clientv3.LeaseValue(name), "=", p.floor),
	).Then(clientv3.OpDelete(name)).Commit()
	if rerr == nil && !r.Succeeded {
		rerr = errGone
	}
	return errors.Join(err, rerr)
}
