package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// refusals are the codes with which etcd answers a request that it will not
// carry out. All others leave the outcome open: the request may have been
// proposed, and may still be applied.
var refusals = map[codes.Code]bool{
	codes.InvalidArgument:    true, // too large, wrong password
	codes.FailedPrecondition: true, // auth switched off, not capable
	codes.PermissionDenied:   true,
	codes.Unauthenticated:    true,
	codes.ResourceExhausted:  true, // no space, too many requests
	codes.OutOfRange:         true, // TTL too large
	codes.Unimplemented:      true,
}

// judge tells what an error means: ErrLost where the session's lease is gone,
// Refused where nothing was done, and anything else for unknown.
func judge(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return fmt.Errorf("%w: %w", distlock.ErrLost, err)
	case isRefusal(err):
		return distlock.Refused(err)
	}
	return timely(ctx, err)
}

// timely makes a time-out that is ctx's own into ctx's error.
func timely(ctx context.Context, err error) error {
	if err != nil && isTimeout(err) && isOver(ctx) {
		return ctx.Err()
	}
	return err
}

// isTimeout reports whether err says that time is up, be it the client's word
// or the server's, which is sent the deadline.
func isTimeout(err error) bool {
	return errors.Is(err, rpctypes.ErrTimeout) || status.Code(err) == codes.DeadlineExceeded
}

// isOver reports whether ctx has ended. The server's timer for its deadline can
// be the faster one: then the end of ctx is awaited.
func isOver(ctx context.Context) bool {
	d, ok := ctx.Deadline()
	if ok && time.Until(d) < timerSlack {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}

// timerSlack is what two timers for one moment may differ by.
const timerSlack = 20 * time.Millisecond

// isRefusal reports whether err is etcd's own word that nothing was done. The
// same codes from gRPC itself may concern the answer.
func isRefusal(err error) bool {
	var e rpctypes.EtcdError
	return errors.As(err, &e) && refusals[e.Code()]
}

// passes reports whether err may be over by itself: no leader, no connection,
// no answer in time.
func passes(err error) bool {
	return !isRefusal(err) && status.Code(err) != codes.Unimplemented && !errors.Is(err, rpctypes.ErrLeaseNotFound)
}
