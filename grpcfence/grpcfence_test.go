package grpcfence_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcfence"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestServer(t *testing.T) {
	t.Parallel()
	var f distlock.Fence
	fails := func(err error) grpcfence.Advance {
		return func(context.Context, string, distlock.Token) error { return err }
	}
	guarded := &grpcfence.Options{Key: func(_ context.Context, method string, req any) string {
		if r, ok := req.(*health.HealthCheckRequest); ok {
			return r.GetService()
		}
		return method
	}}
	only := &grpcfence.Options{Optional: func(method string) bool { return strings.HasPrefix(method, "/grpc.health.v1.Health/") }}
	other := &grpcfence.Options{Optional: func(method string) bool { return method == "other" }}
	for _, test := range []struct {
		name    string
		advance grpcfence.Advance
		options *grpcfence.Options
		values  []string
		code    codes.Code
		err     error
	}{
		{"first", nil, nil, []string{`token="7", key=%"k"`}, codes.OK, nil},
		{"equal", nil, nil, []string{`token="7", key=%"k"`}, codes.OK, nil},
		{"stale", nil, nil, []string{`token="6", key=%"k"`}, codes.Aborted, distlock.ErrStale},
		{"missing", nil, nil, nil, codes.InvalidArgument, distlock.ErrInvalid},
		{"malformed", nil, nil, []string{`token=7, key=%"k"`}, codes.InvalidArgument, distlock.ErrInvalid},
		{"twice", nil, nil, []string{`token="8", key=%"k"`, `token="8", key=%"k"`}, codes.InvalidArgument, distlock.ErrInvalid},
		{"not the resource's key", nil, guarded, []string{`token="9", key=%"k"`}, codes.InvalidArgument, distlock.ErrInvalid},
		{"another source", nil, &grpcfence.Options{Source: "a"}, []string{`token="9", key=%"k", source="b"`}, codes.FailedPrecondition, distlock.ErrSource},
		{"the source", nil, &grpcfence.Options{Source: "a"}, []string{`token="7", key=%"k", source="a"`}, codes.OK, nil},
		{"the mark's source", fails(distlock.ErrSource), nil, []string{`token="7", key=%"k"`}, codes.FailedPrecondition, distlock.ErrSource},
		{"the fence says invalid", fails(distlock.Invalid("mark", "secret", "y")), nil, []string{`token="7", key=%"k"`}, codes.Unavailable, nil},
		{"the fence fails", fails(errors.New("secret")), nil, []string{`token="7", key=%"k"`}, codes.Unavailable, nil},
		{"optional", nil, only, nil, codes.OK, nil},
		{"optional elsewhere", nil, other, nil, codes.InvalidArgument, distlock.ErrInvalid},
		{"optional, but stale", nil, only, []string{`token="6", key=%"k"`}, codes.Aborted, distlock.ErrStale},
		{"none of it has raised the mark", nil, nil, []string{`token="7", key=%"k"`}, codes.OK, nil},
	} {
		if test.advance == nil {
			test.advance = local(&f)
		}
		client, service := serve(t, test.advance, test.options, "")
		ctx := metadata.NewOutgoingContext(t.Context(), metadata.MD{grpcfence.MetadataKey: test.values})
		for kind, call := range kinds {
			err := call(ctx, client)
			refusal := grpcfence.Refusal(fmt.Errorf("wrapped: %w", err))
			if status.Code(err) != test.code || err != nil && len(service.called) > 0 {
				t.Errorf("%s, %s: got %v, want %v", test.name, kind, err, test.code)
			}
			if err == nil {
				<-service.called
				refusal = grpcfence.Refusal(err)
			}
			if (refusal == nil) != (test.code == codes.OK) || test.err != nil && !errors.Is(refusal, test.err) ||
				test.err == nil && errors.Is(refusal, distlock.ErrInvalid) {
				t.Errorf("%s, %s: Refusal is %v, want %v", test.name, kind, refusal, test.err)
			}
			if refusal != nil && (strings.Contains(refusal.Error(), "secret") || status.Code(refusal) != test.code) {
				t.Errorf("%s, %s: Refusal is %v", test.name, kind, refusal)
			}
		}
	}
}

func TestRefusalIsOnlyOurs(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		nil, errors.New("any"), status.Error(codes.Aborted, "conflict"), context.Canceled,
	} {
		if got := grpcfence.Refusal(err); got != nil {
			t.Errorf("%v: got %v", err, got)
		}
	}
}

func TestClientCarries(t *testing.T) {
	t.Parallel()
	var f distlock.Fence
	optional := func(string) bool { return true }
	client, service := serve(t, local(&f), &grpcfence.Options{Source: "s", Optional: optional}, "s")
	forwarded := metadata.NewOutgoingContext(t.Context(), metadata.Pairs("other", "x", grpcfence.MetadataKey, "of another call"))
	for ctx, want := range map[context.Context]string{
		distlock.ContextWithToken(t.Context(), "ü \"%\" \\ \u2028", 5): "ü \"%\" \\ \u2028 5",
		distlock.ContextWithToken(forwarded, "k", 1<<62):               "k 4611686018427387904",
		t.Context(): "none 0",
	} {
		for kind, call := range kinds {
			if err := call(ctx, client); err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			if got := <-service.called; got != want {
				t.Errorf("%s: got %q, want %q", kind, got, want)
			}
		}
	}
	if md, _ := metadata.FromOutgoingContext(forwarded); md.Get(grpcfence.MetadataKey)[0] != "of another call" {
		t.Errorf("the caller's metadata was changed: %v", md)
	}
}

func TestClientRefusesBeforeSending(t *testing.T) {
	t.Parallel()
	var f distlock.Fence
	for source, token := range map[string]distlock.Token{"": 0, "ä": 1, strings.Repeat("s", 129): 1} {
		client, service := serve(t, local(&f), nil, source)
		for kind, call := range kinds {
			err := call(distlock.ContextWithToken(t.Context(), "k", token), client)
			if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "must be") || len(service.called) > 0 {
				t.Errorf("%s, source %q, token %v: got %v", kind, source, token, err)
			}
		}
	}
}

func TestServerPanics(t *testing.T) {
	t.Parallel()
	var f distlock.Fence
	for name, call := range map[string]func(){
		"no fence":  func() { grpcfence.UnaryServer(nil, nil) },
		"no fence ": func() { grpcfence.StreamServer(nil, nil) },
		"source":    func() { grpcfence.UnaryServer(local(&f), &grpcfence.Options{Source: "\n"}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}
