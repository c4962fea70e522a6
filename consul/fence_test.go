package consul_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
	"github.com/distlock-go/distlock/internal/fencetest"
	"github.com/hashicorp/consul/api"
)

// A shelf is where one test has resources and their marks.
type shelf struct {
	testing.TB
	admin  *api.Client
	prefix string
}

func newShelf(t testing.TB) *shelf { return &shelf{t, connect(t), options().Prefix} }

// fence returns one on c.
func (s *shelf) fence(c *api.Client, source string) *consullock.Fence {
	return consullock.NewFence(c, consullock.FenceOptions{Source: source, Prefix: s.prefix + "marks/"})
}

// data is the name of a resource.
func (s *shelf) data(key string) string { return consullock.EntryName(s.prefix+"data/", key) }

// read returns the value under name, "" if there is none.
func (s *shelf) read(ctx context.Context, name string) (string, error) {
	q := &api.QueryOptions{RequireConsistent: true}
	entry, _, err := s.admin.KV().Get(name, q.WithContext(ctx))
	if err != nil || entry == nil {
		return "", err
	}
	return string(entry.Value), nil
}

// late returns a client before whose first PUT something happens.
func (s *shelf) late(between func()) *api.Client {
	return connect(s.TB, through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPut && between != nil {
			between()
			between = nil
		}
		return next.RoundTrip(r)
	}))
}

func (s *shelf) open(source string) fencetest.Fence {
	f := s.fence(s.admin, source)
	txn := func(ctx context.Context, key string, t distlock.Token, op *api.KVTxnOp) error {
		_, err := f.Txn(ctx, key, t, api.KVTxnOps{op})
		return err
	}
	return fencetest.Fence{
		Advance: f.Advance,
		Write: func(ctx context.Context, key string, t distlock.Token, content string) error {
			return txn(ctx, key, t, &api.KVTxnOp{Verb: api.KVSet, Key: s.data(key), Value: []byte(content)})
		},
		Read:  func(ctx context.Context, key string) (string, error) { return s.read(ctx, s.data(key)) },
		Reset: f.Reset,
		LateReset: func(ctx context.Context, key string, between func()) error {
			return s.fence(s.late(between), source).Reset(ctx, key)
		},
		Fail: func(ctx context.Context, key string, t distlock.Token) error {
			return txn(ctx, key, t, &api.KVTxnOp{Verb: api.KVCAS, Key: s.data(key), Value: []byte("x"), Index: 1})
		},
	}
}

func TestFence(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	fencetest.Run(t, fencetest.Harness{Open: s.open, Spoil: func(ctx context.Context, key, text string) error {
		entry := &api.KVPair{Key: consullock.EntryName(s.prefix+"marks/", key), Value: []byte(text)}
		_, err := s.admin.KV().Put(entry, new(api.WriteOptions).WithContext(ctx))
		return err
	}})
}

// Results and errors are those of the caller's operations.
func TestFenceTxn(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	f, ctx := s.fence(s.admin, "a"), within(t, time.Minute)
	ops := make(api.KVTxnOps, 63)
	for i := range ops {
		ops[i] = &api.KVTxnOp{Verb: api.KVSet, Key: s.data(strings.Repeat("x", i+1)), Value: []byte("1")}
	}
	resp, err := f.Txn(ctx, "k", 5, ops)
	if err != nil || len(resp.Results) != 63 || resp.Results[62].Key != ops[62].Key {
		t.Fatalf("63 operations: got %v, %v", resp, err)
	}
	if _, err := f.Txn(ctx, "k", 5, append(ops, ops[0])); !isInvalid(err) {
		t.Errorf("64 operations: got %v, want ErrInvalid", err)
	}
	resp, err = f.Txn(ctx, "k", 5, api.KVTxnOps{
		{Verb: api.KVGet, Key: ops[0].Key}, {Verb: api.KVCheckIndex, Key: ops[0].Key, Index: 1},
	})
	if err == nil || strings.Contains(err.Error(), "unknown") || len(resp.Errors) != 1 || resp.Errors[0].OpIndex != 1 {
		t.Errorf("got %+v, %v, want that the second one failed", resp, err)
	}
	if resp, err = f.Txn(ctx, "k", 4, ops[:1]); !errors.Is(err, distlock.ErrStale) || resp != nil {
		t.Errorf("got %v, %v, want ErrStale", resp, err)
	}
}

// What the user may not do is told as such, at once.
func TestFenceWithoutRights(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	requests := 0
	c := connect(t, through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		requests++
		resp, err := next.RoundTrip(r)
		if err == nil && r.Method == http.MethodPut {
			resp.Body.Close()
			resp.StatusCode = http.StatusConflict // as an agent with ACLs answers
			resp.Body = io.NopCloser(strings.NewReader(`{"Results":null,"Errors":[{"OpIndex":0,"What":"Permission denied"}]}`))
		}
		return resp, err
	}))
	f, ctx := s.fence(c, "a"), within(t, time.Minute)
	if err := f.Advance(ctx, "k", 5); err == nil || !strings.Contains(err.Error(), "Permission denied") || requests != 2 {
		t.Errorf("Advance: got %v after %d requests, want Permission denied after 2", err, requests)
	}
	requests = 0
	if _, err := f.Txn(ctx, "k", 5, nil); err == nil || !strings.Contains(err.Error(), "Permission denied") || requests > 2 {
		t.Errorf("Txn: got %v after %d requests, want Permission denied", err, requests)
	}
}

// A write whose reply is lost is told as unknown, was carried out once and is not
// repeated, and the fence goes on.
func TestFenceLostReply(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	lost := false
	c := connect(t, through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil && lost && r.Method == http.MethodPut {
			resp.Body.Close()
			return nil, errors.New("connection reset")
		}
		return resp, err
	}))
	f, ctx := s.fence(c, "a"), within(t, time.Minute)
	if err := f.Advance(ctx, "k", 5); err != nil {
		t.Fatal(err)
	}
	lost = true
	_, err := f.Txn(ctx, "k", 5, api.KVTxnOps{{Verb: api.KVCAS, Key: s.data("k"), Value: []byte("once")}})
	isUnknown(t, "Txn", err)
	isUnknown(t, "Advance", f.Advance(ctx, "k", 6))
	lost = false
	if got, err := s.read(ctx, s.data("k")); got != "once" || err != nil {
		t.Errorf("got %q, %v, want that it was written", got, err)
	}
	if err := f.Advance(ctx, "k", 5); !errors.Is(err, distlock.ErrStale) {
		t.Errorf("after an Advance whose reply was lost: got %v, want ErrStale", err)
	}
	if err := f.Advance(ctx, "k", 6); err != nil {
		t.Errorf("Advance once more: %v", err)
	}
}

func isUnknown(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "unknown whether") || errors.Is(err, distlock.ErrStale) || isInvalid(err) {
		t.Errorf("%s: got %v, want that its outcome is unknown", what, err)
	}
}

func TestFenceArguments(t *testing.T) {
	t.Parallel()
	c, err := api.NewClient(&api.Config{Address: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	good := consullock.NewFence(c, consullock.FenceOptions{Source: "a"})
	_, noOp := good.Txn(t.Context(), "k", 1, api.KVTxnOps{nil})
	_, noToken := good.Txn(t.Context(), "k", 0, nil)
	for name, err := range map[string]error{
		"no client":    consullock.NewFence(nil, consullock.FenceOptions{Source: "a"}).Advance(t.Context(), "k", 1),
		"no source":    consullock.NewFence(c, consullock.FenceOptions{}).Advance(t.Context(), "k", 1),
		"prefix":       consullock.NewFence(c, consullock.FenceOptions{Source: "a", Prefix: "/"}).Reset(t.Context(), "k"),
		"empty key":    good.Advance(t.Context(), "", 1),
		"no operation": noOp,
		"no token":     noToken,
	} {
		if !isInvalid(err) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
	if err := good.Advance(t.Context(), "k", 1); err == nil || strings.Contains(err.Error(), "unknown") {
		t.Errorf("no server: got %v, want that nothing was written", err)
	}
}
