package grpcfence

import (
	"fmt"

	"github.com/distlock-go/distlock/internal/wire"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// domain is that of the detail ErrorInfo.
const domain = "distlock"

var statuses = map[wire.Refusal]codes.Code{
	wire.Missing:   codes.InvalidArgument,
	wire.Malformed: codes.InvalidArgument,
	wire.Stale:     codes.Aborted,
	wire.Source:    codes.FailedPrecondition,
	wire.Unknown:   codes.Unavailable,
}

// refuse returns the status of a refusal.
func refuse(why wire.Refusal) error {
	s := status.New(statuses[why], why.Text())
	detailed, err := s.WithDetails(&errdetails.ErrorInfo{Reason: string(why), Domain: domain})
	if err != nil {
		return s.Err() // only an OK status takes no details
	}
	return detailed.Err()
}

// Refusal returns nil if err is not a refusal of a server of this package, else an
// error that matches distlock.ErrStale, distlock.ErrSource, distlock.ErrInvalid for
// a token that was missing or malformed, or none of these if the fence has not
// decided. It wraps err.
func Refusal(err error) error {
	s, ok := status.FromError(err)
	if !ok || err == nil {
		return nil
	}
	for _, detail := range s.Details() {
		info, ok := detail.(*errdetails.ErrorInfo)
		if !ok || info.GetDomain() != domain {
			continue
		}
		why := wire.Refusal(info.GetReason())
		if code, ok := statuses[why]; ok && code == s.Code() {
			return fmt.Errorf("grpcfence: refused (%s): %w: %w", why, why.Err(), err)
		}
	}
	return nil
}
