package consul

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/distlock-go/distlock"
	"github.com/hashicorp/consul/api"
)

// errNoSession is what is said of a session that Consul does not know.
var errNoSession = fmt.Errorf("%w: the session is gone", distlock.ErrLost)

// errForeign is met where an entry is that no session has locked, or not for a grant.
var errForeign = fmt.Errorf("%w: the entry is no lock that this library has taken, and is left alone", distlock.ErrForeign)

// bare takes the URL out of an error: it may name the session, and who knows a
// session's id can free its locks.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return fmt.Errorf("consul: %w", u.Err)
	}
	return err
}

// status returns the HTTP status that err tells of, or 0.
func status(err error) int {
	var answer api.StatusError
	if errors.As(err, &answer) {
		return answer.Code
	}
	return 0
}

// isCertain reports whether nothing can be left of an acquire that came to err:
// an answer that it was not carried out, or a request that never left. A
// server error is neither: it may be about the answer only.
func isCertain(err error) bool {
	code := status(err)
	var dial *net.OpError
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError ||
		errors.As(err, &dial) && dial.Op == "dial"
}

// A conflict is why a lock was not taken.
type conflict int

const (
	failed  conflict = iota // none of these
	noSuch                  // the session is gone
	delayed                 // a lock-delay goes on
	locked                  // by a session that is not ours
	exists                  // an entry is there that this session could lock: see inspect
)

// conflictOf reads the errors of the acquiring transaction. They are text;
// every version since the verbs exist has these words.
func conflictOf(errs api.TxnErrors) conflict {
	found := failed
	for _, e := range errs {
		switch {
		case strings.Contains(e.What, "invalid session"):
			return noSuch
		case strings.Contains(e.What, "lock delay"):
			found = max(found, delayed)
		case strings.Contains(e.What, "already held"):
			return locked
		case e.OpIndex == 0 && strings.HasSuffix(e.What, "exists"):
			found = max(found, exists)
		default:
			return failed
		}
	}
	return found
}

// rejected is the error of a transaction that failed for none of the reasons
// to expect.
func rejected(errs api.TxnErrors) error {
	return fmt.Errorf("transaction: %s", errs[0].What)
}
