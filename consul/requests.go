package consul

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/hashicorp/consul/api"
)

// call runs f while the backend has less than maxCalls requests under way.
func (b *Backend) call(ctx context.Context, f func() error) error {
	select {
	case b.calls <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-b.calls }()
	return bare(f())
}

// put sends one request. It goes by Raw, since what package api offers beside
// it drops the status of an error, a lock-delay of 0, or both.
func (b *Backend) put(ctx context.Context, path string, in, out any) error {
	_, err := b.client.Raw().Write(path, in, out, new(api.WriteOptions).WithContext(ctx))
	return err
}

// createSession returns the id of a new session that has no health checks: it
// lives by its TTL alone. What it holds is deleted when it ends, so that
// entries of dead holders do not pile up.
func (b *Backend) createSession(ctx context.Context, t distlock.Terms) (id string, err error) {
	in := struct {
		Name, TTL, LockDelay, Behavior string
		NodeChecks                     []string
		Node                           string `json:",omitempty"`
	}{
		Name: "distlock", TTL: t.TTL.String(), LockDelay: max(t.LockDelay, 0).String(),
		Behavior: api.SessionBehaviorDelete, NodeChecks: []string{}, Node: b.opts.Node,
	}
	var out struct{ ID string }
	err = b.call(ctx, func() error { return b.put(ctx, "/v1/session/create", in, &out) })
	if err == nil && out.ID == "" {
		err = errors.New("session create: the answer has no id")
	}
	return out.ID, err
}

// renewSession waits behind no other request: the leases of many depend on it.
func (b *Backend) renewSession(ctx context.Context, id string) error {
	var out []*api.SessionEntry
	err := bare(b.put(ctx, "/v1/session/renew/"+id, nil, &out))
	if status(err) == http.StatusNotFound {
		return errNoSession
	}
	return err
}

func (b *Backend) destroySession(ctx context.Context, id string) error {
	return bare(b.put(ctx, "/v1/session/destroy/"+id, nil, nil))
}

// An op is one of a transaction's. Package api's own type sends each field of
// each kind of operation, and the agent is slow to read them.
type op struct {
	Verb    api.KVOp
	Key     string
	Value   []byte `json:",omitempty"`
	Index   uint64 `json:",omitempty"`
	Session string `json:",omitempty"`
}

// An outcome is what a transaction came to: the indexes of the entries that
// were changed or checked, in order, or what was wrong with which operation.
type outcome struct {
	indexes []uint64
	errs    api.TxnErrors
}

// last is the index of the last entry.
func (o outcome) last() (uint64, error) {
	if len(o.indexes) == 0 {
		return 0, errors.New("transaction: the answer has no results")
	}
	return o.indexes[len(o.indexes)-1], nil
}

// txn carries out all ops or none. An error says that the outcome is unknown,
// unless it is certain.
func (b *Backend) txn(ctx context.Context, ops ...op) (o outcome, err error) {
	type kv struct{ KV op }
	in := make([]kv, len(ops))
	for i, op := range ops {
		in[i].KV = op
	}
	var out struct {
		Results []struct{ KV struct{ ModifyIndex uint64 } }
		Errors  api.TxnErrors
	}
	err = b.call(ctx, func() error { return b.put(ctx, "/v1/txn", in, &out) })
	var answer api.StatusError
	if errors.As(err, &answer) && answer.Code == http.StatusConflict {
		if json.Unmarshal([]byte(answer.Body), &out) != nil || len(out.Errors) == 0 {
			return o, fmt.Errorf("transaction: %w", err)
		}
		return outcome{errs: out.Errors}, nil
	}
	for _, r := range out.Results {
		o.indexes = append(o.indexes, r.KV.ModifyIndex)
	}
	return o, err
}

// changed returns which of holds are not as they were at the grant, of maxTxn at
// most. It is answered as look is.
func (b *Backend) changed(ctx context.Context, holds []distlock.Hold) (some []distlock.Hold, err error) {
	ops := make(api.KVTxnOps, len(holds))
	for i, h := range holds {
		ops[i] = &api.KVTxnOp{Verb: api.KVCheckIndex, Key: entryName(b.opts.Prefix, h.Key), Index: uint64(h.Token)}
	}
	q := &api.QueryOptions{RequireConsistent: true}
	err = b.call(ctx, func() error {
		_, resp, _, err := b.client.KV().Txn(ops, q.WithContext(ctx))
		if err != nil {
			return err
		}
		for _, e := range resp.Errors {
			if e.OpIndex < 0 || e.OpIndex >= len(holds) {
				return rejected(resp.Errors)
			}
			some = append(some, holds[e.OpIndex])
		}
		return nil
	})
	return some, err
}

// maxTxn is how many operations a transaction can have.
const maxTxn = 64

// look reads an entry; nil is none. It is answered by a server that has made
// sure that it is the leader.
func (b *Backend) look(ctx context.Context, name string) (entry *api.KVPair, err error) {
	err = b.call(ctx, func() error {
		entry, _, err = b.get(ctx, name, &api.QueryOptions{RequireConsistent: true})
		return err
	})
	return entry, err
}

// await reads an entry once it has changed after index, or after about wait.
func (b *Backend) await(ctx context.Context, name string, index uint64, wait time.Duration) (entry *api.KVPair, at uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait+wait/16+answerBound)
	defer cancel()
	entry, at, err = b.get(ctx, name, &api.QueryOptions{WaitIndex: index, WaitTime: wait})
	if at < index {
		at = 0 // a snapshot was restored
	}
	return entry, at, bare(err)
}

// answerBound is how long an answer to await may take beside its wait.
const answerBound = 5 * time.Second

func (b *Backend) get(ctx context.Context, name string, q *api.QueryOptions) (*api.KVPair, uint64, error) {
	entry, meta, err := b.client.KV().Get(name, q.WithContext(ctx))
	if err != nil {
		return nil, 0, err
	}
	return entry, meta.LastIndex, nil
}
