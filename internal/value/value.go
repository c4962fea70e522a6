// Package value is what the etcd and consul backends store under a lock's name.
package value

import (
	"encoding/hex"
	"strings"

	"github.com/distlock-go/distlock"
)

// Broken is the value of what keeps a key after its lock was broken. It is nobody's.
const Broken = "broken"

// Of is the value of r's grant: the owner, a space, and the holder's text.
func Of(r distlock.Request) string { return r.Owner.Text() + " " + r.Holder }

// Parse is the reverse of Of. Not ok is no value of a grant.
func Parse[Text string | []byte](v Text) (o distlock.Owner, holder string, ok bool) {
	owner, holder, ok := strings.Cut(string(v), " ")
	if !ok || len(owner) != hex.EncodedLen(len(o)) {
		return o, "", false
	}
	if _, err := hex.Decode(o[:], []byte(owner)); err != nil || o.Text() != owner {
		return distlock.Owner{}, "", false
	}
	return o, holder, true
}
