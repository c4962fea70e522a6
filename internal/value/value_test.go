package value_test

import (
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/value"
)

func FuzzParse(f *testing.F) {
	r := distlock.Request{Owner: distlock.NewOwner(), Holder: "web 1"}
	for _, s := range []string{value.Of(r), r.Owner.Text() + " ", r.Owner.Text(), value.Broken, "", " ", "A" + value.Of(r)[1:]} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, holder, ok := value.Parse(s)
		if again := value.Of(distlock.Request{Owner: o, Holder: holder}); ok && again != s {
			t.Errorf("%q was read as what is written %q", s, again)
		}
		if !ok && (o != distlock.Owner{} || holder != "") {
			t.Errorf("%q is no value, but tells something", s)
		}
	})
}

func TestValues(t *testing.T) {
	r := distlock.Request{Owner: distlock.NewOwner(), Holder: "web 1, pid 7"}
	if o, holder, ok := value.Parse([]byte(value.Of(r))); !ok || o != r.Owner || holder != r.Holder {
		t.Errorf("got %q, %v of a value", holder, ok)
	}
	if _, _, ok := value.Parse(value.Broken); ok {
		t.Error("what keeps a broken lock's key is taken for a grant")
	}
}
