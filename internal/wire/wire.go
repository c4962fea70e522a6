// Package wire writes a lease's key and token as the text that travels in one
// header of a request, and reads it.
//
// The text is a Dictionary of RFC 9651 with these members in this order:
//
//	token="1757", key=%"invoice/42", source="redis-eu"
//
// Token is a String, since the Integer of that RFC ends at 15 digits and tokens
// go up to 2^63-1. Key is a Display String: UTF-8 in which each byte outside of
// printable ASCII, the quote and the percent sign are written %xx, in lower case.
// Source is a String, and is left out if it is empty.
package wire

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/distlock-go/distlock"
)

const (
	// MaxLen is more than the longest text has: 512 bytes of key and 128 of
	// source, all of them escaped.
	MaxLen = 2048
)

// A Token is what travels.
type Token struct {
	Key    string         // 1 to 512 bytes of UTF-8 without NUL
	Token  distlock.Token // 1 to 2^63-1
	Source string         // up to 128 bytes of printable ASCII, may be empty
}

// Check returns an error that matches distlock.ErrInvalid if t cannot be written.
func (t Token) Check() error {
	if err := distlock.CheckKey(t.Key); err != nil {
		return err
	}
	if err := distlock.CheckToken(t.Token); err != nil {
		return err
	}
	return CheckSource(t.Source)
}

// CheckSource returns an error that matches distlock.ErrInvalid if source cannot
// be written.
func CheckSource(source string) error {
	if source == "" {
		return nil
	}
	return distlock.CheckSource(source)
}

// Text writes t, which Check has passed.
func (t Token) Text() string {
	var b strings.Builder
	b.WriteString(`token="` + t.Token.String() + `", key=%"`)
	for i := range len(t.Key) {
		if c := t.Key[i]; c < ' ' || c > '~' || c == '"' || c == '%' {
			b.WriteString("%" + hex.EncodeToString([]byte{c}))
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	if t.Source != "" {
		b.WriteString(`, source="` + escaper.Replace(t.Source) + `"`)
	}
	return b.String()
}

var (
	escaper   = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	unescaper = strings.NewReplacer(`\\`, `\`, `\"`, `"`)
)

// Parse reads what Text wrote, and nothing else: it also refuses other ways to
// write the same, so that nobody who reads the header in between can take it for
// another token. Errors match distlock.ErrInvalid.
func Parse(s string) (Token, error) {
	t, ok := parse(s)
	if !ok || t.Check() != nil || t.Text() != s {
		return Token{}, distlock.Invalid("token text", quoteStart(s), `like token="1757", key=%"invoice/42", source="redis-eu"`)
	}
	return t, nil
}

// parse reads s as if it were well written.
func parse(s string) (t Token, ok bool) {
	if len(s) > MaxLen {
		return t, false
	}
	rest, ok := strings.CutPrefix(s, `token="`)
	digits, rest, found := strings.Cut(rest, `", key=%"`)
	if !ok || !found {
		return t, false
	}
	token, err := distlock.ParseToken(digits)
	if err != nil {
		return t, false
	}
	key, rest, found := strings.Cut(rest, `"`)
	if !found {
		return t, false
	}
	t.Token = token
	if t.Key, ok = unpercent(key); !ok {
		return t, false
	}
	if source, found := strings.CutPrefix(rest, `, source="`); found {
		t.Source = unescaper.Replace(strings.TrimSuffix(source, `"`))
	}
	return t, true
}

func unpercent(s string) (string, bool) {
	head, tail, found := strings.Cut(s, "%")
	for found {
		if len(tail) < 2 {
			return "", false
		}
		c, err := hex.DecodeString(tail[:2])
		if err != nil {
			return "", false
		}
		var next string
		next, tail, found = strings.Cut(tail[2:], "%")
		head += string(c) + next
	}
	return head, true
}

// quoteStart quotes s for an error, cut short.
func quoteStart(s string) string {
	const most = 80
	if len(s) > most {
		return strconv.Quote(s[:most]) + "..."
	}
	return strconv.Quote(s)
}
