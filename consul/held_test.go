package consul_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
	"github.com/distlock-go/distlock/memory"
	"github.com/hashicorp/consul/api"
)

// write sets name under the condition of l and reports whether it was carried out.
func write(t testing.TB, c *api.Client, name string, l *distlock.Lease) bool {
	t.Helper()
	ok, resp, _, err := c.KV().Txn(api.KVTxnOps{
		consullock.Held(l),
		{Verb: api.KVSet, Key: name, Value: []byte(l.Token().String())},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !ok && (len(resp.Errors) != 1 || resp.Errors[0].OpIndex != 0) {
		t.Errorf("got %+v, want that the first operation failed", resp)
	}
	return ok
}

func TestHeldLetsTheHolderWriteAndNobodyElse(t *testing.T) {
	t.Parallel()
	admin, opts := connect(t), options()
	resource := opts.Prefix + "=resource"
	a, b := locks(t, consullock.New(connect(t), opts)), locks(t, consullock.New(connect(t), opts))
	first := acquire(t, a, "k")
	for range 2 { // a write moves nothing of the lock's
		if !write(t, admin, resource, first) {
			t.Error("the holder could not write")
		}
	}
	entry := entryOf(t, admin, opts, "k")
	if _, err := admin.Session().Destroy(entry.Session, nil); err != nil { // behind the holder's back
		t.Fatal(err)
	}
	if write(t, admin, resource, first) {
		t.Error("a holder wrote whose session is gone")
	}
	next := acquire(t, b, "k")
	if write(t, admin, resource, first) {
		t.Error("an old holder wrote beside the next one")
	}
	if !write(t, admin, resource, next) {
		t.Error("the next holder could not write")
	}
	release(t, next)
	if write(t, admin, resource, next) {
		t.Error("a holder wrote after its release")
	}
	if next.Token() <= first.Token() {
		t.Errorf("got token %v after %v", next.Token(), first.Token())
	}
}

func TestHeldOfAnotherBackendIsNeverMet(t *testing.T) {
	t.Parallel()
	c, err := distlock.New(memory.New())
	if err != nil {
		t.Fatal(err)
	}
	l := acquire(t, c, "k", distlock.WithTTL(time.Minute))
	defer release(t, l)
	for _, l := range []*distlock.Lease{nil, l} {
		ok, _, _, err := connect(t).KV().Txn(api.KVTxnOps{consullock.Held(l)}, nil)
		if ok || err != nil {
			t.Errorf("got %v, %v, want a condition that is not met", ok, err)
		}
	}
}
