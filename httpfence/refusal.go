package httpfence

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/distlock-go/distlock"
)

// RefusedHeader is the field of a response that says why a token was refused:
// missing, malformed, stale, source or unknown.
const RefusedHeader = "Distlock-Refused"

// A refusal is an answer to a request that does not reach the handler.
type refusal struct {
	word   string
	status int
	text   string
	err    error // what Refusal makes of it
}

var (
	missing = &refusal{"missing", http.StatusPreconditionRequired, "a fencing token is required", distlock.ErrInvalid}

	malformed = &refusal{
		"malformed", http.StatusBadRequest,
		"the fencing token cannot be read or is for another key", distlock.ErrInvalid,
	}

	stale = &refusal{"stale", http.StatusPreconditionFailed, "a later holder of the lock has come", distlock.ErrStale}

	source = &refusal{"source", http.StatusConflict, "the fencing token is of another lock service", distlock.ErrSource}

	unknown = &refusal{
		"unknown", http.StatusServiceUnavailable, "the fence could not be asked",
		errors.New("the fence could not be asked"),
	}
)

var refusals = []*refusal{missing, malformed, stale, source, unknown}

func (r *refusal) answer(w http.ResponseWriter) {
	w.Header().Set(RefusedHeader, r.word)
	http.Error(w, r.text, r.status)
}

// Refusal returns nil if resp is not a refusal of Handler's, else an error that
// matches distlock.ErrStale, distlock.ErrSource, distlock.ErrInvalid for a token
// that was missing or malformed, or none of these if the fence could not be
// asked. It looks at status and header, and leaves the body to the caller.
func Refusal(resp *http.Response) error {
	word := resp.Header.Get(RefusedHeader)
	for _, r := range refusals {
		if r.word == word && r.status == resp.StatusCode {
			return fmt.Errorf("httpfence: refused (%d, %s): %w", r.status, r.word, r.err)
		}
	}
	return nil
}
