package etcd_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	etcdlock "github.com/distlock-go/distlock/etcd"
	"github.com/distlock-go/distlock/internal/fencetest"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// fence returns one on cli, with marks of the test's own.
func (s *space) fence(cli clientv3.KV, source string) *etcdlock.Fence {
	return etcdlock.NewFence(cli, etcdlock.FenceOptions{Source: source, Prefix: s.prefix + "marks/"})
}

// data is the name of a resource.
func (s *space) data(key string) string { return s.prefix + "data/" + key }

// read returns the value under name, "" if there is none.
func (s *space) read(ctx context.Context, name string) (string, error) {
	resp, err := s.admin.Get(ctx, name)
	if err != nil || len(resp.Kvs) == 0 {
		return "", err
	}
	return string(resp.Kvs[0].Value), nil
}

// A lateKV has something happen before its first transaction.
type lateKV struct {
	clientv3.KV
	between func()
}

func (kv *lateKV) Txn(ctx context.Context) clientv3.Txn {
	if kv.between != nil {
		kv.between()
		kv.between = nil
	}
	return kv.KV.Txn(ctx)
}

func (s *space) open(source string) fencetest.Fence {
	f := s.fence(s.admin, source)
	txn := func(ctx context.Context, key string, t distlock.Token, op clientv3.Op) error {
		_, err := f.Txn(ctx, key, t, op)
		return err
	}
	return fencetest.Fence{
		Advance: f.Advance,
		Write: func(ctx context.Context, key string, t distlock.Token, content string) error {
			return txn(ctx, key, t, clientv3.OpPut(s.data(key), content))
		},
		Read:  func(ctx context.Context, key string) (string, error) { return s.read(ctx, s.data(key)) },
		Reset: f.Reset,
		LateReset: func(ctx context.Context, key string, between func()) error {
			return s.fence(&lateKV{s.admin, between}, source).Reset(ctx, key)
		},
		Fail: func(ctx context.Context, key string, t distlock.Token) error {
			return txn(ctx, key, t, clientv3.OpPut(s.data(key), "x", clientv3.WithLease(1))) // there is none
		},
	}
}

func TestFence(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	fencetest.Run(t, fencetest.Harness{Open: s.open, Spoil: func(ctx context.Context, key, text string) error {
		_, err := s.admin.Put(ctx, s.prefix+"marks/"+key, text)
		return err
	}})
}

// A transaction's operations have their answers, and conditions of their own.
func TestFenceTxn(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	f := s.fence(s.admin, "a")
	a, b := s.data("a"), s.data("b")
	if _, err := f.Txn(s.ctx, "k", 5, clientv3.OpPut(a, "1"), clientv3.OpPut(b, "1")); err != nil {
		t.Fatal(err)
	}
	ifOne := clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.Value(a), "=", "1")}, []clientv3.Op{clientv3.OpPut(a, "2")}, nil)
	for _, want := range []bool{true, false} {
		resp, err := f.Txn(s.ctx, "k", 5, ifOne, clientv3.OpGet(b))
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.Responses[0].GetResponseTxn().Succeeded; got != want {
			t.Errorf("the condition: got %v, want %v", got, want)
		}
		if got := string(resp.Responses[1].GetResponseRange().Kvs[0].Value); got != "1" {
			t.Errorf("got %q", got)
		}
	}
	if resp, err := f.Txn(s.ctx, "k", 4, clientv3.OpDelete(a)); !errors.Is(err, distlock.ErrStale) || resp != nil {
		t.Errorf("got %v, %v, want ErrStale", resp, err)
	}
	ops := make([]clientv3.Op, 129)
	for i := range ops {
		ops[i] = clientv3.OpPut(s.data(strings.Repeat("x", i)), "")
	}
	if _, err := f.Txn(s.ctx, "k", 6, ops[:128]...); err != nil {
		t.Errorf("128 operations: %v", err)
	}
	if _, err := f.Txn(s.ctx, "k", 6, ops...); err == nil || strings.Contains(err.Error(), "unknown") {
		t.Errorf("129 operations: got %v, want that they are refused", err)
	}
}

// What a call sends, as the package says.
func TestFenceRequests(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	requests := 0
	f := s.fence(dial(t, intercepted(func(method string, call func() error) error {
		requests++
		return call()
	})), "a")
	put := clientv3.OpPut(s.data("k"), "")
	write := func(token distlock.Token) func() error {
		return func() error { _, err := f.Txn(s.ctx, "k", token, put); return err }
	}
	advance := func(token distlock.Token) func() error {
		return func() error { return f.Advance(s.ctx, "k", token) }
	}
	for _, step := range []struct {
		what string
		do   func() error
		want int
		err  error
	}{
		{"Advance", advance(5), 2, nil},
		{"Advance again", advance(5), 1, nil},
		{"a write after it", write(5), 1, nil},
		{"a write that raises the mark", write(6), 3, nil},
		{"the next", write(6), 1, nil},
		{"a stale one", write(5), 1, distlock.ErrStale},
	} {
		requests = 0
		if err := step.do(); !errors.Is(err, step.err) || requests != step.want {
			t.Errorf("%s: %v, with %d requests, want %d", step.what, err, requests, step.want)
		}
	}
}

// intercepted has each request to the key space pass f.
func intercepted(f func(method string, call func() error) error) func(*clientv3.Config) {
	return func(c *clientv3.Config) {
		c.DialOptions = append(c.DialOptions, grpc.WithChainUnaryInterceptor(func(
			ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
		) error {
			if !strings.HasPrefix(method, "/etcdserverpb.KV/") {
				return invoke(ctx, method, req, reply, cc, opts...)
			}
			return f(method, func() error { return invoke(ctx, method, req, reply, cc, opts...) })
		}))
	}
}

// A write whose reply is lost is told as unknown, was carried out once and is not
// repeated, and the fence goes on.
func TestFenceLostReply(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	lost := false
	f := s.fence(dial(t, intercepted(func(method string, call func() error) error {
		err := call()
		if lost && strings.HasSuffix(method, "/Txn") {
			return status.Error(codes.Unavailable, "connection reset")
		}
		return err
	})), "a")
	if err := f.Advance(s.ctx, "k", 5); err != nil {
		t.Fatal(err)
	}
	lost = true
	once := clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(s.data("k")), "=", 0)},
		[]clientv3.Op{clientv3.OpPut(s.data("k"), "once")}, []clientv3.Op{clientv3.OpPut(s.data("k"), "twice")})
	isUnknown(t, "Txn", func() error { _, err := f.Txn(s.ctx, "k", 5, once); return err }())
	isUnknown(t, "Advance", f.Advance(s.ctx, "k", 6))
	lost = false
	if got, err := s.read(s.ctx, s.data("k")); got != "once" || err != nil {
		t.Errorf("got %q, %v, want that it was written once", got, err)
	}
	if err := f.Advance(s.ctx, "k", 5); !errors.Is(err, distlock.ErrStale) {
		t.Errorf("after an Advance whose reply was lost: got %v, want ErrStale", err)
	}
	if err := f.Advance(s.ctx, "k", 6); err != nil {
		t.Errorf("Advance once more: %v", err)
	}
	if _, err := f.Txn(s.ctx, "k", 6, clientv3.OpPut(s.data("k"), "next")); err != nil {
		t.Errorf("the next write: %v", err)
	}
}

func isUnknown(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "unknown whether") ||
		errors.Is(err, distlock.ErrStale) || errors.Is(err, distlock.ErrInvalid) {
		t.Errorf("%s: got %v, want that its outcome is unknown", what, err)
	}
}

func TestFenceArguments(t *testing.T) {
	t.Parallel()
	var none *clientv3.Client
	kv := new(clientv3.Client) // that would panic
	good := etcdlock.NewFence(kv, etcdlock.FenceOptions{Source: "a"})
	_, noOp := good.Txn(t.Context(), "k", 1, clientv3.Op{})
	_, noToken := good.Txn(t.Context(), "k", 0)
	for name, err := range map[string]error{
		"nil client":       etcdlock.NewFence(nil, etcdlock.FenceOptions{Source: "a"}).Advance(t.Context(), "k", 1),
		"typed nil client": etcdlock.NewFence(none, etcdlock.FenceOptions{Source: "a"}).Reset(t.Context(), "k"),
		"no source":        etcdlock.NewFence(kv, etcdlock.FenceOptions{}).Advance(t.Context(), "k", 1),
		"source":           etcdlock.NewFence(kv, etcdlock.FenceOptions{Source: "a\nb"}).Advance(t.Context(), "k", 1),
		"long source":      etcdlock.NewFence(kv, etcdlock.FenceOptions{Source: strings.Repeat("a", 129)}).Reset(t.Context(), "k"),
		"prefix":           etcdlock.NewFence(kv, etcdlock.FenceOptions{Source: "a", Prefix: strings.Repeat("p", 257)}).Reset(t.Context(), "k"),
		"empty key":        good.Advance(t.Context(), "", 1),
		"long key":         good.Reset(t.Context(), strings.Repeat("k", 513)),
		"key":              good.Advance(t.Context(), "a\x00", 1),
		"no operation":     noOp,
		"no token":         noToken,
	} {
		if !errors.Is(err, distlock.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
}
