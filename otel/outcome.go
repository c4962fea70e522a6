package otellock

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"

	"github.com/distlock-go/distlock"
)

// outcomes are what an error can come to, the first that matches. A wait that
// ended by ctx matches ErrHeld too: that the caller gave up says more.
var outcomes = []struct {
	err  error
	name string
}{
	{context.Canceled, "canceled"},
	{context.DeadlineExceeded, "canceled"},
	{distlock.ErrClosed, "closed"},
	{distlock.ErrInvalid, "invalid"},
	{distlock.ErrStale, "stale"},
	{distlock.ErrForeign, "foreign"},
	{distlock.ErrHeld, "held"},
	{distlock.ErrLost, "lost"},
	{distlock.ErrReleased, "released"},
}

// failed is the outcome of an error that is not a decision.
const failed = "error"

func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	for _, o := range outcomes {
		if errors.Is(err, o.err) {
			return o.name
		}
	}
	return failed
}

// attributes returns the outcome of err, with the type of a service's error.
func attributes(err error) []attribute.KeyValue {
	o := outcome(err)
	set := []attribute.KeyValue{outcomeKey.String(o)}
	if o == failed {
		set = append(set, errorKey.String(errorType(err)))
	}
	return set
}

// errorType is the type of the innermost error of the first branch: the
// wrappers around it say nothing about the cause.
func errorType(err error) string {
	for {
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			if e.Unwrap() == nil {
				return fmt.Sprintf("%T", err)
			}
			err = e.Unwrap()
		case interface{ Unwrap() []error }:
			all := e.Unwrap()
			if len(all) == 0 {
				return fmt.Sprintf("%T", err)
			}
			err = all[0]
		default:
			return fmt.Sprintf("%T", err)
		}
	}
}
