package consul

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/distlock-go/distlock/internal/mark"
	"github.com/hashicorp/consul/api"
)

// marks are those of a Fence. Their version is the entry's ModifyIndex. The Backend
// sends the requests and is for nothing else.
type marks struct{ *Backend }

func (m *marks) name(key string) string { return entryName(m.opts.Prefix, key) }

func (m *marks) Read(ctx context.Context, key string) (text string, version int64, err error) {
	entry, err := m.look(ctx, m.name(key))
	if err != nil || entry == nil {
		return "", 0, err
	}
	return string(entry.Value), int64(entry.ModifyIndex), nil
}

// Swap relies on what cas means with the index 0: there is no entry.
func (m *marks) Swap(ctx context.Context, key, text string, version int64) (now int64, err error) {
	answer, err := m.send(ctx, api.KVTxnOps{
		{Verb: api.KVCAS, Key: m.name(key), Value: []byte(text), Index: uint64(version)},
	})
	if err != nil {
		return 0, err
	}
	if len(answer.Errors) > 0 {
		return 0, moved(answer.Errors[0])
	}
	if len(answer.Results) == 0 {
		return 0, errors.New("transaction: the answer has no results")
	}
	return int64(answer.Results[0].ModifyIndex), nil
}

// txn carries ops out if the mark of key is in this version.
func (m *marks) txn(ctx context.Context, key string, version int64, ops api.KVTxnOps) (*api.KVTxnResponse, error) {
	check := &api.KVTxnOp{Verb: api.KVCheckIndex, Key: m.name(key), Index: uint64(version)}
	answer, err := m.send(ctx, append(api.KVTxnOps{check}, ops...))
	if err != nil {
		return nil, err
	}
	for _, e := range answer.Errors {
		if e.OpIndex == 0 {
			return nil, moved(e)
		}
		e.OpIndex--
	}
	if len(answer.Errors) > 0 {
		return answer, &refusedError{answer.Errors[0]}
	}
	if len(answer.Results) > 0 { // the check's own
		answer.Results = answer.Results[1:]
	}
	return answer, nil
}

// moved is ErrMoved if e says that the entry has another index. That is text; every
// version since the verbs exist has these words.
func moved(e *api.TxnError) error {
	if strings.HasPrefix(e.What, "failed ") && strings.Contains(e.What, "index") {
		return mark.ErrMoved
	}
	return &refusedError{e}
}

// A refusedError is Consul's word that it did not carry out a transaction.
type refusedError struct{ op *api.TxnError }

func (e *refusedError) Error() string {
	return fmt.Sprintf("operation %d: %s", e.op.OpIndex, e.op.What)
}

func (m *marks) Refused(err error) bool {
	var refused *refusedError
	return errors.As(err, &refused) || isCertain(err)
}

// send sends ops as one transaction. It goes by put, as package api's own call for it
// hides the status of an error.
func (m *marks) send(ctx context.Context, ops api.KVTxnOps) (*api.KVTxnResponse, error) {
	in := make(api.TxnOps, len(ops))
	for i, op := range ops {
		in[i] = &api.TxnOp{KV: op}
	}
	var out api.TxnResponse
	err := m.call(ctx, func() error { return m.put(ctx, "/v1/txn", in, &out) })
	var answer api.StatusError
	if errors.As(err, &answer) && answer.Code == http.StatusConflict {
		if json.Unmarshal([]byte(answer.Body), &out) == nil && len(out.Errors) > 0 {
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	kv := &api.KVTxnResponse{Errors: out.Errors}
	for _, r := range out.Results {
		kv.Results = append(kv.Results, r.KV)
	}
	return kv, nil
}
