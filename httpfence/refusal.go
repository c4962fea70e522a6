package httpfence

import (
	"fmt"
	"net/http"

	"github.com/distlock-go/distlock/internal/wire"
)

// RefusedHeader is the field of a response that says why a token was refused:
// missing, malformed, stale, source or unknown. A handler whose write finds the token
// stale sets it too, with the status 412.
const RefusedHeader = "Distlock-Refused"

var statuses = map[wire.Refusal]int{
	wire.Missing:   http.StatusPreconditionRequired,
	wire.Malformed: http.StatusBadRequest,
	wire.Stale:     http.StatusPreconditionFailed,
	wire.Source:    http.StatusConflict,
	wire.Unknown:   http.StatusServiceUnavailable,
}

// Refusal returns nil if resp is not a refusal of Handler's, else an error that
// matches distlock.ErrStale, distlock.ErrSource, distlock.ErrInvalid for a token
// that was missing or malformed, or none of these if the fence has not
// decided. It looks at status and header, and leaves the body to the caller.
func Refusal(resp *http.Response) error {
	why := wire.Refusal(resp.Header.Get(RefusedHeader))
	if status, ok := statuses[why]; !ok || status != resp.StatusCode {
		return nil
	}
	return fmt.Errorf("httpfence: refused (%d, %s): %w", resp.StatusCode, why, why.Err())
}
