package otellock

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/distlock-go/distlock"
)

// Bounds of buckets, in seconds: of what takes a round trip or a wait, and of
// what lasts as long as a job does.
var (
	short = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
	long  = []float64{0.01, 0.1, 1, 5, 15, 60, 300, 900, 3600, 6 * 3600, 24 * 3600}
)

// metrics are the instruments. Background reports have no ctx of a caller.
type metrics struct {
	class func(string) string

	acquire, wait, lease, renewal, lateness, release              metric.Float64Histogram
	attempts, losses, warnings, overruns, cleanups, terms, breaks metric.Int64Counter
	active                                                        metric.Int64UpDownCounter
}

func newMetrics(m metric.Meter, class func(string) string) (*metrics, error) {
	s := &metrics{class: class}
	var all []error
	histogram := func(name, about string, bounds []float64) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(about),
			metric.WithExplicitBucketBoundaries(bounds...))
		all = append(all, err)
		return h
	}
	counter := func(name, unit, about string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(about))
		all = append(all, err)
		return c
	}
	s.acquire = histogram("distlock.acquire.duration", "Duration of calls to acquire a lock.", short)
	s.wait = histogram("distlock.acquire.wait", "Time that calls to acquire waited for somebody else.", short)
	s.lease = histogram("distlock.lease.duration", "Time from the grant of a lease to its end.", long)
	s.renewal = histogram("distlock.renewal.duration", "Duration of renewals.", short)
	s.lateness = histogram("distlock.renewal.lateness", "Time from when a renewal was due until it was sent.", short)
	s.release = histogram("distlock.release.duration", "Duration of calls to release a lock.", short)
	s.attempts = counter("distlock.acquire.attempts", "{attempt}", "Requests for a lock.")
	s.losses = counter("distlock.lease.losses", "{lease}", "Leases that ended before they were released.")
	s.warnings = counter("distlock.lease.warnings", "{lease}", "Leases whose renewals have failed for a third of the TTL.")
	s.overruns = counter("distlock.lease.overruns", "{function}", "Functions that ran on after their lease had ended.")
	s.cleanups = counter("distlock.cleanups", "{attempt}", "Tries to clean up after an unknown outcome.")
	s.terms = counter("distlock.campaign.retries", "{term}", "Terms after which a campaign goes on.")
	s.breaks = counter("distlock.breaks", "{call}", "Calls by which an operator frees a lock by force.")
	var err error
	s.active, err = m.Int64UpDownCounter("distlock.lease.active", metric.WithUnit("{lease}"),
		metric.WithDescription("Leases that are held."))
	return s, errors.Join(append(all, err)...)
}

// with returns the attributes of one measurement.
func (m *metrics) with(backend, key string, more ...attribute.KeyValue) metric.MeasurementOption {
	set := append(more, backendKey.String(backend))
	if m.class != nil && key != "" {
		if c := m.class(key); c != "" {
			set = append(set, classKey.String(c))
		}
	}
	return metric.WithAttributeSet(attribute.NewSet(set...))
}

func (m *metrics) acquired(ctx context.Context, i distlock.AcquireInfo) {
	set := append(attributes(i.Err), waitKey.Bool(i.Wait))
	m.acquire.Record(ctx, i.Duration.Seconds(), m.with(i.Backend, i.Key, set...))
	if i.Wait {
		m.wait.Record(ctx, i.Waited.Seconds(), m.with(i.Backend, i.Key, outcomeKey.String(outcome(i.Err))))
	}
	if i.Err == nil {
		m.active.Add(ctx, 1, m.with(i.Backend, i.Key))
	}
}

func (m *metrics) attempted(ctx context.Context, i distlock.AttemptInfo) {
	m.attempts.Add(ctx, 1, m.with(i.Backend, i.Key, attributes(i.Err)...))
}

func (m *metrics) renewed(i distlock.RenewInfo) {
	ctx := context.Background()
	m.renewal.Record(ctx, i.Took.Seconds(), m.with(i.Backend, i.Key, attributes(i.Err)...))
	m.lateness.Record(ctx, max(i.Late, 0).Seconds(), m.with(i.Backend, i.Key))
}

func (m *metrics) warned(i distlock.WarnInfo) {
	m.warnings.Add(context.Background(), 1, m.with(i.Backend, i.Key))
}

func (m *metrics) lost(i distlock.LostInfo) {
	ctx := context.Background()
	m.losses.Add(ctx, 1, m.with(i.Backend, i.Key, causeKey.String(strings.NewReplacer(" ", "_", "-", "_").Replace(i.Cause.String()))))
	m.ended(ctx, i.Backend, i.Key, "lost", i.Held)
}

func (m *metrics) released(ctx context.Context, i distlock.ReleaseInfo) {
	m.release.Record(ctx, i.Duration.Seconds(), m.with(i.Backend, i.Key, attributes(i.Err)...))
	if i.Ended {
		m.ended(ctx, i.Backend, i.Key, "released", i.Held)
	}
}

// ended is called once for each lease.
func (m *metrics) ended(ctx context.Context, backend, key, how string, held time.Duration) {
	m.active.Add(ctx, -1, m.with(backend, key))
	m.lease.Record(ctx, held.Seconds(), m.with(backend, key, endKey.String(how)))
}

func (m *metrics) broken(ctx context.Context, i distlock.BreakInfo) {
	m.breaks.Add(ctx, 1, m.with(i.Backend, i.Key, attributes(i.Err)...))
}

func (m *metrics) cleanedUp(i distlock.CleanupInfo) {
	m.cleanups.Add(context.Background(), 1, m.with(i.Backend, i.Key, attributes(i.Err)...))
}

func (m *metrics) overrun(i distlock.OverrunInfo) {
	if !i.Returned { // it is told of again
		m.overruns.Add(context.Background(), 1, m.with(i.Backend, i.Key))
	}
}

func (m *metrics) campaigned(ctx context.Context, i distlock.CampaignInfo) {
	m.terms.Add(ctx, 1, m.with(i.Backend, i.Key))
}
