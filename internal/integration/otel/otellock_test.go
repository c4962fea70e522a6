// Package otel_test tests package otellock with the SDK of OpenTelemetry, which
// the module of the library does not depend on.
package otel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
	otellock "github.com/distlock-go/distlock/otel"
)

var errNet = errors.New("connection reset")

// A recorder is an SDK that keeps everything.
type recorder struct {
	reader *sdkmetric.ManualReader
	spans  *tracetest.SpanRecorder
	trace  *distlock.Trace
}

func newRecorder(t *testing.T, o otellock.Options) *recorder {
	t.Helper()
	r := &recorder{reader: sdkmetric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	o.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader))
	o.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.spans))
	var err error
	if r.trace, err = otellock.New(&o); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *recorder) collect(t *testing.T) []metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	if len(all.ScopeMetrics) != 1 {
		t.Fatalf("got %d scopes, want 1", len(all.ScopeMetrics))
	}
	return all.ScopeMetrics[0].Metrics
}

// values are what a metric has come to, a line for each set of attributes: the
// value of a sum, the count of a histogram and its sum in whole seconds.
func (r *recorder) values(t *testing.T) (lines []string) {
	t.Helper()
	for _, m := range r.collect(t) {
		switch d := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range d.DataPoints {
				lines = append(lines, fmt.Sprintf("%s %s %s %d", m.Name, m.Unit, text(p.Attributes), p.Value))
			}
		case metricdata.Histogram[float64]:
			for _, p := range d.DataPoints {
				lines = append(lines, fmt.Sprintf("%s %s %s %d in %.0fs", m.Name, m.Unit, text(p.Attributes), p.Count, p.Sum))
			}
		default:
			t.Errorf("%s is a %T", m.Name, d)
		}
	}
	return lines
}

// text prints s without the prefix and the backend, which all have.
func text(s attribute.Set) string {
	var all []string
	for _, a := range s.ToSlice() {
		if a.Key == "distlock.backend" {
			if a.Value.AsString() != "memory" {
				all = append(all, "WRONG "+a.Value.AsString())
			}
			continue
		}
		all = append(all, strings.TrimPrefix(string(a.Key), "distlock.")+"="+a.Value.String())
	}
	return "{" + strings.Join(all, ",") + "}"
}

// live goes through everything that can happen to a lock, in 12 s steps.
func live(t *testing.T, r *recorder) {
	b := memory.New()
	c, err := distlock.New(b, distlock.WithTrace(r.trace), distlock.WithTTL(12*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	hook := func(op memory.Op) memory.Hooks {
		return memory.Hooks{Before: func(_ context.Context, o memory.Op, _ string) error {
			if o == op {
				return errNet
			}
			return nil
		}}
	}
	l, _ := c.Acquire(ctx, "a/1")
	time.Sleep(13 * time.Second) // three renewals
	_, _ = c.TryAcquire(ctx, "a/1")
	_ = l.Release(ctx)
	_ = l.Release(ctx)
	l, _ = c.Acquire(ctx, "a/2")
	b.Expire("a/2")
	<-l.Done()
	l, _ = c.Acquire(ctx, "a/3", distlock.WithMaxHold(5*time.Second))
	<-l.Done()
	b.SetHooks(hook(memory.Acquire))
	_, _ = c.Acquire(ctx, "a/4")
	b.SetHooks(hook(memory.Renew))
	_ = distlock.Do(ctx, c, "a/5", func(ctx context.Context, _ *distlock.Lease) error {
		<-ctx.Done()
		time.Sleep(5 * time.Second)
		return nil
	})
	b.SetHooks(memory.Hooks{})
	terms := 0
	_ = distlock.Campaign(ctx, c, "a/7", func(ctx context.Context, l *distlock.Lease) error {
		if terms++; terms == 1 {
			_ = c.Break(ctx, "a/7", l.Token())
			_ = c.Break(context.Background(), "a/7", l.Token())
			<-ctx.Done()
		}
		return nil
	})
	l, _ = c.Acquire(ctx, "a/6")
	time.AfterFunc(3*time.Second, func() { l.Release(context.Background()) })
	_, _ = c.Acquire(ctx, "a/6") // still held at the end
	time.Sleep(time.Second)
	synctest.Wait()
	t.Cleanup(func() { c.Close(context.Background()) })
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(t, otellock.Options{})
		live(t, r)
		got := r.values(t)
		for _, want := range []string{
			"distlock.acquire.duration s {outcome=ok,wait=true} 8 in 3s",
			"distlock.acquire.duration s {outcome=held,wait=false} 1 in 0s",
			"distlock.acquire.duration s {outcome=error,wait=true,error.type=*errors.errorString} 1 in 0s",
			"distlock.acquire.wait s {outcome=ok} 8 in 3s",
			"distlock.acquire.attempts {attempt} {outcome=held} 1",
			"distlock.lease.active {lease} {} 1",
			"distlock.lease.duration s {end=released} 3 in 16s",
			"distlock.lease.duration s {end=lost} 4 in 25s",
			"distlock.lease.losses {lease} {loss.cause=gone} 2",
			"distlock.lease.losses {lease} {loss.cause=max_hold} 1",
			"distlock.lease.losses {lease} {loss.cause=no_answer} 1",
			"distlock.lease.warnings {lease} {} 1",
			"distlock.lease.overruns {function} {} 1",
			"distlock.renewal.duration s {outcome=lost} 2 in 0s",
			"distlock.release.duration s {outcome=released} 1 in 0s",
			"distlock.breaks {call} {outcome=ok} 1",
			"distlock.breaks {call} {outcome=stale} 1",
			"distlock.campaign.retries {term} {} 1",
		} {
			if i := slices.IndexFunc(got, func(line string) bool { return sameLine(line, want) }); i < 0 {
				t.Errorf("missing: %s", want)
			}
		}
		for _, line := range got {
			if strings.Contains(line, "a/") {
				t.Errorf("a key is in the attributes: %s", line)
			}
		}
		if t.Failed() {
			t.Log("\n" + strings.Join(got, "\n"))
		}
	})
}

// sameLine compares two lines, whatever the order of attributes.
func sameLine(a, b string) bool {
	sorted := func(s string) string {
		head, rest, _ := strings.Cut(s, " {")
		if strings.HasPrefix(rest, "lease}") || strings.HasPrefix(rest, "attempt}") || strings.HasPrefix(rest, "function}") ||
			strings.HasPrefix(rest, "call}") || strings.HasPrefix(rest, "term}") {
			unit, more, _ := strings.Cut(rest, " {")
			head, rest = head+" {"+unit, more
		}
		set, tail, _ := strings.Cut(rest, "}")
		all := strings.Split(set, ",")
		slices.Sort(all)
		return head + strings.Join(all, ",") + tail
	}
	return sorted(a) == sorted(b)
}

// What the package documentation lists is what there is, with type and unit.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(t, otellock.Options{})
		live(t, r)
		checkDocumented(t, r.collect(t), "../../../otel/doc.go", "../../../docs/metrics.md")
	})
}

func TestKeyClass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(t, otellock.Options{KeyClass: func(key string) string { return key[:1] }})
		live(t, r)
		for _, line := range r.values(t) {
			if !strings.Contains(line, "key_class=a") {
				t.Errorf("no class: %s", line)
			}
		}
	})
}

func TestSpans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(t, otellock.Options{})
		start := time.Now()
		live(t, r)
		spans := r.spans.Ended()
		if len(spans) < 12 {
			t.Fatalf("got %d spans, want one for each call", len(spans))
		}
		first := spans[0]
		if first.Name() != "distlock acquire" || !first.StartTime().Equal(start) || has(first, "distlock.key", "a/1") != 1 ||
			has(first, "distlock.token", "1") != 1 || has(first, "distlock.outcome", "ok") != 1 || first.Status().Code != codes.Unset {
			t.Errorf("the first span is %v %v %v", first.Name(), first.Attributes(), first.Status())
		}
		waited, failed, released, broken := 0, 0, 0, 0
		for _, s := range spans {
			if s.EndTime().Sub(s.StartTime()).Round(time.Second) == 3*time.Second {
				waited += has(s, "distlock.key", "a/6")
			}
			if s.Status().Code == codes.Error {
				failed += has(s, "distlock.key", "a/4")
			}
			switch s.Name() {
			case "distlock release":
				released++
			case "distlock break":
				broken += has(s, "distlock.outcome", "ok")
			}
		}
		if waited != 1 || failed != 1 || released < 4 || broken != 1 {
			t.Errorf("got %d spans that waited, %d that failed, %d of releases, %d of breaks", waited, failed, released, broken)
		}
	})
}

// has is 1 if s has the attribute.
func has(s sdktrace.ReadOnlySpan, key, value string) int {
	for _, a := range s.Attributes() {
		if string(a.Key) == key && a.Value.String() == value {
			return 1
		}
	}
	return 0
}

func TestHideKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(t, otellock.Options{HideKeys: true})
		live(t, r)
		for _, s := range r.spans.Ended() {
			if said := fmt.Sprint(s.Attributes(), s.Status(), s.Events()); strings.Contains(said, "a/") {
				t.Errorf("a key is in a span: %s", said)
			}
		}
	})
}

func TestSpansAreChildren(t *testing.T) {
	t.Parallel()
	r := newRecorder(t, otellock.Options{})
	tracer := sdktrace.NewTracerProvider().Tracer("test")
	ctx, parent := tracer.Start(t.Context(), "parent")
	c, err := distlock.New(memory.New(), distlock.WithTrace(r.trace))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	l, err := c.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(ctx); err != nil {
		t.Error(err)
	}
	for _, s := range r.spans.Ended() {
		if s.Parent().SpanID() != parent.SpanContext().SpanID() {
			t.Errorf("%s is no child of the caller's span", s.Name())
		}
	}
}
