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
//	distlock.acquire.duration   histogram      s           whole Acquire or TryAcquire; distlock.wait, distlock.outcome, error.type
//	distlock.acquire.wait       histogram      s           the part of an Acquire in which somebody else had the key; distlock.outcome
//	distlock.acquire.attempts   counter        {attempt}   requests for a key; distlock.outcome
//	distlock.lease.active       updowncounter  {lease}     leases held
//	distlock.lease.duration     histogram      s           from the grant to the end; distlock.end
//	distlock.lease.losses       counter        {lease}     distlock.loss.cause
//	distlock.lease.warnings     counter        {lease}     renewals have failed for a third of the TTL
//	distlock.lease.overruns     counter        {function}  functions that ran on after their lease
//	distlock.renewal.duration   histogram      s           one renewal; distlock.outcome
//	distlock.renewal.lateness   histogram      s           from when it was due until it was sent
//	distlock.release.duration   histogram      s           whole Release; distlock.outcome
//	distlock.cleanups           counter        {attempt}   tries to clean up after an unknown outcome; distlock.outcome
//	distlock.campaign.retries   counter        {term}      terms after which a Campaign goes on
//
// Values of distlock.outcome: ok, held, lost, released, canceled (by the caller's
// ctx), closed, invalid, error. Those of distlock.end: released, lost; of
// distlock.loss.cause: gone, no_answer, not_renewed, max_hold. error.type is the
// Go type of the service's error, with outcome error only.
//
// # Spans
//
// "distlock acquire" and "distlock release", of kind client, children of what
// ctx carries, with distlock.key, distlock.token, distlock.backend and
// distlock.outcome; that of an acquire also has distlock.wait, distlock.attempts and
// distlock.waited_seconds. Outcome error sets the status. What happens in the
// background (renewals, losses) has no ctx and makes no span.
package otellock
