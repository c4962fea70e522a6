package zookeeper

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// errClosed is met by calls that Close cuts short.
var errClosed = errors.New("the session is closed")

// errExpired is what ends a session that the servers have forgotten.
var errExpired = errors.New("the servers have ended the session")

// answers are the servers' own words that nothing was done.
var answers = []error{
	zk.ErrAPIError, zk.ErrNoNode, zk.ErrNoAuth, zk.ErrBadVersion, zk.ErrNoChildrenForEphemerals, zk.ErrNodeExists,
	zk.ErrNotEmpty, zk.ErrInvalidACL, zk.ErrInvalidFlags, zk.ErrInvalidPath, zk.ErrAuthFailed, zk.ErrBadArguments,
	zk.ErrNoServer, // the client's: every server was tried in vain, and the request was never sent
}

// isBroken reports whether the answer was lost with its connection. The
// request may have been carried out or not, and can be sent again over the
// next one, which the client is about to make.
func isBroken(err error) bool {
	var network net.Error
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrSessionMoved) ||
		errors.Is(err, errSilent) || errors.Is(err, io.EOF) || errors.As(err, &network) ||
		err != nil && strings.HasPrefix(err.Error(), "tls: ") // of a connection that was closed meanwhile
}

// isAnswer reports whether err says that nothing was done, now or later.
func isAnswer(err error) bool {
	return slices.Contains(answers, err) || strings.HasPrefix(err.Error(), "unknown error:")
}

// explain says of an answer what the client library does not.
func explain(err error) error {
	if err.Error() == "unknown error: -6" {
		return fmt.Errorf("the server does not know container nodes; it must be 3.5.3 or later: %w", err)
	}
	return err
}
