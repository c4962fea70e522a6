package absent_test

import (
	"testing"

	"github.com/distlock-go/distlock/internal/absent"
)

func TestIs(t *testing.T) {
	var none *int
	for _, test := range []struct {
		v    any
		want bool
	}{{nil, true}, {none, true}, {new(int), false}, {0, false}, {struct{}{}, false}, {[]int(nil), false}} {
		if got := absent.Is(test.v); got != test.want {
			t.Errorf("%#v: got %v, want %v", test.v, got, test.want)
		}
	}
}
