package servers

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/integration/proxy"
)

// stepLimit bounds a step of a test that changes servers.
const stepLimit = 5 * time.Minute

// Start starts what the plan describes and removes it when the test ends. It ends
// the test if the servers cannot be started. When the test has failed, it logs the
// last lines of a single server.
func Start[F Fleet](t testing.TB, p Plan[F]) F {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // an image may have to be built
	defer cancel()
	f, err := p.Launch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if s, ok := any(f).(*Server); ok && t.Failed() {
			text, _ := s.Logs(ctx, 20)
			t.Logf("%s printed last:\n%s", s.Name(), text)
		}
		if err := f.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return f
}

// Do runs steps one after the other and ends the test at the first that fails.
func Do(t testing.TB, steps ...func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stepLimit)
	defer cancel()
	for _, step := range steps {
		if err := step(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// Proxy starts a proxy in front of the server, which the test closes when it ends. It
// goes on when the server is restarted, as the address stays the same.
func (s *Server) Proxy(t testing.TB) *proxy.Proxy {
	t.Helper()
	return proxy.Start(t, s.Addr())
}
