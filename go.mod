module github.com/distlock-go/distlock

go 1.26.0

// The latest release. It lets a command say that it must not be sent twice
// (Cmder.NoRetry), which an answer of "deleted" or "not there" depends on.
require github.com/redis/go-redis/v9 v9.23.0

// The API of OpenTelemetry, for package otellock alone: what no page of code
// replaces is that a program's own SDK takes the data. The SDK itself is used in
// tests only, which are in internal/integration, so that it reaches no go.sum of
// a user.
require (
	go.opentelemetry.io/otel v1.47.0
	go.opentelemetry.io/otel/metric v1.47.0
	go.opentelemetry.io/otel/trace v1.47.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
