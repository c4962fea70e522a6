// Package otellock makes OpenTelemetry metrics and spans of what happens to
// locks. Import it as otellock:
//
//	import otellock "github.com/distlock-go/distlock/otel"
//
//	trace, err := otellock.New(nil) // the global providers
//	client, err := distlock.New(backend, distlock.WithTrace(trace))
//
// It needs the API of OpenTelemetry only; which SDK takes the data, and where
// it goes, is the program's. Where none is installed a call costs next to
// nothing.
//
// # Metrics
//
// All durations are in seconds. Every instrument has the attribute
// distlock.backend, and distlock.key_class if Options.KeyClass is set. Keys are
// not among the attributes: they can be many, and can identify customers.
//
//	distlock.acquire.duration   histogram       s
//	distlock.acquire.wait       histogram       s
//	distlock.acquire.attempts   counter         {attempt}
//	distlock.lease.active       updowncounter   {lease}
//	distlock.lease.duration     histogram       s
//	distlock.lease.losses       counter         {lease}
//	distlock.lease.warnings     counter         {lease}
//	distlock.lease.overruns     counter         {function}
//	distlock.renewal.duration   histogram       s
//	distlock.renewal.lateness   histogram       s
//	distlock.release.duration   histogram       s
//	distlock.breaks             counter         {call}
//	distlock.cleanups           counter         {attempt}
//	distlock.campaign.retries   counter         {term}
//
// docs/metrics.md of this module says what each measures, with which further
// attributes and values, and has panels and alerts.
//
// # Spans
//
// "distlock acquire", "distlock release" and "distlock break", of kind client, children of what
// ctx carries, with distlock.key, distlock.token, distlock.backend and
// distlock.outcome; that of an acquire also has distlock.wait, distlock.attempts and
// distlock.waited_seconds. Outcome error sets the status. What happens in the
// background (renewals, losses) has no ctx and makes no span.
package otellock
