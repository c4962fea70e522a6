package faults_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/distlock-go/distlock/internal/integration/servers"
)

// parallel is how many tests run at a time: they mostly wait.
const parallel = 6

func TestMain(m *testing.M) {
	if os.Getenv(nodesEnv) != "" {
		os.Exit(acquireForParent())
	}
	if os.Getenv(backendEnv) != "" {
		os.Exit(runForParent())
	}
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(max(parallel, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	code := max(m.Run(), conclude())
	if _, err := servers.RemoveOwn(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// healthy is a server that no test harms: what goes wrong does so in the proxies in
// front of it. It is started when it is first asked for.
var healthy = sync.OnceValues(func() (*servers.Server, error) {
	return servers.Redis.Launch(context.Background())
})

// healthyServer returns the shared server.
func healthyServer(t testing.TB) *servers.Server {
	t.Helper()
	s, err := healthy()
	if err != nil {
		t.Fatal(err)
	}
	return s
}
