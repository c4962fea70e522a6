package distlock

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
)

// maxSequencer is more than the longest sequencer has: 19 digits, 512 bytes of
// key in base 64, and the backend's name.
const maxSequencer = 1024

// Sequencer returns a text that stands for this grant: the token, the key and the
// backend's name. Another service that is handed it can ask the lock service
// itself whether the grant is still the present one, see Client.CheckSequencer. It
// is of printable ASCII without spaces where the backend's name is, opaque, and no
// secret; who has it can neither renew nor release the lease. It is empty with
// FencingNone, which has nothing to tell grants apart.
func (l *Lease) Sequencer() string {
	if l.hold.Token == 0 {
		return ""
	}
	return sequencer(l.client.info.Name, l.hold.Key, l.hold.Token)
}

func sequencer(backend, key string, t Token) string {
	return t.String() + "." + base64.RawURLEncoding.EncodeToString([]byte(key)) + "." + backend
}

// parseSequencer reads what sequencer wrote, and nothing else.
func parseSequencer(s string) (backend, key string, t Token, err error) {
	digits, rest, _ := strings.Cut(s, ".")
	encoded, backend, found := strings.Cut(rest, ".")
	if found && len(s) <= maxSequencer {
		var text []byte
		t, err = ParseToken(digits)
		if err == nil {
			text, err = base64.RawURLEncoding.DecodeString(encoded)
			key = string(text)
		}
		if err == nil && CheckKey(key) == nil && sequencer(backend, key, t) == s {
			return backend, key, t, nil
		}
	}
	return "", "", 0, Invalid("sequencer", fmt.Sprintf("%.80q", s), "one that Lease.Sequencer made")
}

// CheckSequencer asks the lock service whether the grant that s stands for has its
// key now. It takes no part in the lock. The error is nil if the grant was the
// present one when the service answered, and else matches
//   - ErrStale: it is not, any more: released, broken, expired, or followed by
//     another. Not before the key is free, though: a grant that was released
//     WithMinHold, or lost with a lock-delay, can be the present one until that is
//     over;
//   - ErrInvalid: s is none that a Lease.Sequencer made, or, matching ErrSource
//     too, one of another kind of backend;
//   - errors.ErrUnsupported: the backend is no Inspector;
//   - ErrForeign: the service has something else under the key;
//   - ErrClosed, ctx.Err(), or the service's own error: unknown.
//
// Current means current at the time of the answer, and how far behind that answer
// may be the backend's documentation says; the grant can end before the next line
// runs. So it is a filter at the door, where a fence would be a condition of the
// write: who can keep a mark should, see Fence. Two services of one kind are not
// told apart: the checking side must be set to the one that the lock is in.
func (c *Client) CheckSequencer(ctx context.Context, s string) error {
	backend, key, t, err := parseSequencer(s)
	if err != nil {
		return c.fail("check", "", err)
	}
	if err := c.isCurrent(ctx, backend, key, t); err != nil {
		return c.fail("check", key, err)
	}
	return nil
}

func (c *Client) isCurrent(ctx context.Context, backend, key string, t Token) error {
	if backend != c.info.Name {
		return fmt.Errorf("%w: the sequencer is of %q, the client of %q", ErrSource, backend, c.info.Name)
	}
	now, err := c.inspect(ctx, key)
	if err != nil {
		return err
	}
	return CheckPresent(now.Token, t)
}
