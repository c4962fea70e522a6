package objectfence

import (
	"context"
	"errors"
)

// A Store is what a Fence needs of a service of objects.
type Store interface {
	// Get returns an object's body and its entity tag, which is not empty and
	// changes whenever the body does. If there is none, the error matches
	// fs.ErrNotExist.
	Get(ctx context.Context, name string) (body []byte, tag string, err error)
	// Put replaces the object if its tag is ifMatch (If-Match), or creates it if
	// ifMatch is empty and there is none (If-None-Match: *). If the condition
	// does not hold (412, or 404 where the object to replace is gone), the error
	// matches ErrPrecondition; if another write was under way (409), ErrConflict.
	// In both cases this put has changed nothing, unless the client library
	// repeats puts: then the answer may be to the second one, and the first was
	// carried out, or still is to be, which the Fence looks into. After any other
	// error the outcome is unknown. Put must not keep body.
	Put(ctx context.Context, name string, body []byte, ifMatch string) error
}

// What a Store says of a put that was refused.
var (
	ErrPrecondition = errors.New("object has another tag")
	ErrConflict     = errors.New("another write is under way")
)
