package wire_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/wire"
)

var texts = []struct {
	token wire.Token
	text  string
}{
	{wire.Token{Key: "invoice/42", Token: 1757}, `token="1757", key=%"invoice/42"`},
	{wire.Token{Key: "k", Token: math.MaxInt64, Source: "redis-eu"}, `token="9223372036854775807", key=%"k", source="redis-eu"`},
	{wire.Token{Key: "ü 100% \"q\" \\ \t\x7f日", Token: 1}, `token="1", key=%"%c3%bc 100%25 %22q%22 \ %09%7f%e6%97%a5"`},
	{wire.Token{Key: `, source="x`, Token: 1, Source: `a\"b", key=%"k`}, `token="1", key=%", source=%22x", source="a\\\"b\", key=%\"k"`},
	{wire.Token{Key: "k", Token: 1, Source: `\`}, `token="1", key=%"k", source="\\"`},
}

func TestTexts(t *testing.T) {
	t.Parallel()
	for _, test := range texts {
		if got := test.token.Text(); got != test.text {
			t.Errorf("%+v: got %s, want %s", test.token, got, test.text)
		}
		if got, err := wire.Parse(test.text); got != test.token || err != nil {
			t.Errorf("%s: got %+v, %v, want %+v", test.text, got, err, test.token)
		}
	}
}

func TestLongestFits(t *testing.T) {
	t.Parallel()
	long := wire.Token{Key: strings.Repeat("日", 170) + "é", Token: math.MaxInt64, Source: strings.Repeat(`"`, 128)}
	if got, err := wire.Parse(long.Text()); got != long || err != nil {
		t.Errorf("got %+v, %v, of %d bytes", got, err, len(long.Text()))
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "1757", `token=1757, key=%"k"`, `token="0", key=%"k"`, `token="01", key=%"k"`, `token="-1", key=%"k"`,
		`token="+1", key=%"k"`, `token="9223372036854775808", key=%"k"`, `token="1"`, `key=%"k", token="1"`,
		`token="1",key=%"k"`, `token="1",  key=%"k"`, ` token="1", key=%"k"`, `token="1", key=%"k" `, `token="1", key="k"`,
		`token="1", key=%""`, `token="1", key=%"k`, `token="1", key=%"%"`, `token="1", key=%"%c"`, `token="1", key=%"%C3%BC"`,
		`token="1", key=%"%6b"`, `token="1", key=%"%c3"`, `token="1", key=%"%00"`, `token="1", key=%"ü"`, "token=\"1\", key=%\"\n\"",
		`token="1", key=%"k", source=""`, `token="1", key=%"k", source="a`, `token="1", key=%"k", source="a"b"`,
		`token="1", key=%"k", source="\a"`, `token="1", key=%"k", source="ü"`, `token="1", key=%"k", more`,
		`token="1", key=%"k", token="2", key=%"k"`, `token="1", key=%"k", source="a", source="b"`, `TOKEN="1", key=%"k"`,
		`token="1", key=%"` + strings.Repeat("k", 513) + `"`, `token="1", key=%"k", source="` + strings.Repeat("s", 129) + `"`,
		strings.Repeat("x", 1<<20),
	} {
		got, err := wire.Parse(text)
		if !errors.Is(err, distlock.ErrInvalid) || got != (wire.Token{}) {
			t.Errorf("%.90q: got %+v, %v, want ErrInvalid", text, got, err)
		}
		if err != nil && len(err.Error()) > 500 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	}
}

// What is read is written the same; what is written is read the same.
func FuzzText(f *testing.F) {
	for _, test := range texts {
		f.Add(test.text, test.token.Key, uint64(test.token.Token), test.token.Source)
	}
	f.Fuzz(func(t *testing.T, text, key string, token uint64, source string) {
		if got, err := wire.Parse(text); err == nil && got.Text() != text {
			t.Errorf("%q was read as %+v, which is written %q", text, got, got.Text())
		}
		want := wire.Token{Key: key, Token: distlock.Token(token), Source: source}
		if want.Check() != nil {
			return
		}
		text = want.Text()
		if got, err := wire.Parse(text); got != want || err != nil {
			t.Errorf("%+v is written %q and read as %+v, %v", want, text, got, err)
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) || len(text) > wire.MaxLen {
			t.Errorf("%q is not fit for a header", text)
		}
	})
}
