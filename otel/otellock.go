package otellock

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/distlock-go/distlock"
)

// scope is the name of the instrumentation scope.
const scope = "github.com/distlock-go/distlock/otel"

// Options choose where data goes. The zero value is ready.
type Options struct {
	// MeterProvider makes the instruments. Default: the global one.
	MeterProvider metric.MeterProvider
	// TracerProvider makes the spans. Default: the global one.
	TracerProvider trace.TracerProvider
	// KeyClass, if not nil, gives the attribute distlock.key_class of metrics:
	// something that few keys differ in, such as what stands before the first
	// slash. An empty answer leaves it out.
	KeyClass func(key string) string
	// HideKeys leaves keys out of spans.
	HideKeys bool
}

// New returns a Trace that records metrics and spans: give it to
// distlock.WithTrace. Nil options are the zero Options. An error is the
// MeterProvider's. The Trace may serve several clients, and is to be used as it
// is: who wants to be told too wraps its functions.
func New(o *Options) (*distlock.Trace, error) {
	if o == nil {
		o = new(Options)
	}
	meters, tracers := o.MeterProvider, o.TracerProvider
	if meters == nil {
		meters = otel.GetMeterProvider()
	}
	if tracers == nil {
		tracers = otel.GetTracerProvider()
	}
	m, err := newMetrics(meters.Meter(scope), o.KeyClass)
	if err != nil {
		return nil, err
	}
	s := &spans{tracer: tracers.Tracer(scope), hideKeys: o.HideKeys}
	return &distlock.Trace{
		Acquired: func(ctx context.Context, i distlock.AcquireInfo) {
			m.acquired(ctx, i)
			s.acquired(ctx, i)
		},
		Attempted: m.attempted,
		Renewed:   m.renewed,
		Warned:    m.warned,
		Lost:      m.lost,
		Released: func(ctx context.Context, i distlock.ReleaseInfo) {
			m.released(ctx, i)
			s.released(ctx, i)
		},
		Broken: func(ctx context.Context, i distlock.BreakInfo) {
			m.broken(ctx, i)
			s.broken(ctx, i)
		},
		CleanedUp:  m.cleanedUp,
		Overrun:    m.overrun,
		Campaigned: m.campaigned,
	}, nil
}

// Attributes that several signals have.
const (
	backendKey = attribute.Key("distlock.backend")
	classKey   = attribute.Key("distlock.key_class")
	outcomeKey = attribute.Key("distlock.outcome")
	waitKey    = attribute.Key("distlock.wait")
	endKey     = attribute.Key("distlock.end")
	causeKey   = attribute.Key("distlock.loss.cause")
	errorKey   = attribute.Key("error.type")
)
