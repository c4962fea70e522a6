package otellock

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/distlock-go/distlock"
)

const (
	keyKey      = attribute.Key("distlock.key")
	tokenKey    = attribute.Key("distlock.token")
	attemptsKey = attribute.Key("distlock.attempts")
	waitedKey   = attribute.Key("distlock.waited_seconds")
)

// spans makes spans of calls that have ended.
type spans struct {
	tracer   trace.Tracer
	hideKeys bool
}

func (s *spans) acquired(ctx context.Context, i distlock.AcquireInfo) {
	s.span(ctx, "distlock acquire", i.Start, i.Start.Add(i.Duration), i.Err, s.attributes(i.Backend, i.Key, i.Token,
		waitKey.Bool(i.Wait), attemptsKey.Int(i.Attempts), waitedKey.Float64(i.Waited.Seconds())))
}

func (s *spans) released(ctx context.Context, i distlock.ReleaseInfo) {
	now := time.Now()
	s.span(ctx, "distlock release", now.Add(-i.Duration), now, i.Err, s.attributes(i.Backend, i.Key, i.Token))
}

func (s *spans) broken(ctx context.Context, i distlock.BreakInfo) {
	now := time.Now()
	s.span(ctx, "distlock break", now.Add(-i.Duration), now, i.Err, s.attributes(i.Backend, i.Key, i.Token))
}

// attributes are those that every span has, and more.
func (s *spans) attributes(backend, key string, t distlock.Token, more ...attribute.KeyValue) []attribute.KeyValue {
	set := append(more, backendKey.String(backend))
	if !s.hideKeys {
		set = append(set, keyKey.String(key))
	}
	if t != 0 {
		set = append(set, tokenKey.Int64(int64(t))) // fits: see distlock.Token
	}
	return set
}

// span makes one that lasted from start to end.
func (s *spans) span(ctx context.Context, name string, start, end time.Time, err error, set []attribute.KeyValue) {
	_, span := s.tracer.Start(ctx, name, trace.WithTimestamp(start), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(append(set, attributes(err)...)...))
	if err != nil && outcome(err) == failed {
		description := err.Error()
		if s.hideKeys { // the error names it
			description = errorType(err)
		}
		span.SetStatus(codes.Error, description)
	}
	span.End(trace.WithTimestamp(end))
}
