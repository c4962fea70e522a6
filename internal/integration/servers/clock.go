package servers

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// Where a server's clock is moved from. The official images do not have the library,
// so it is put into all containers alike.
const (
	clockLibrary = "/distlock-clockshift.so"
	clockShift   = "/clock-shift" // known to the library
)

// WithClock returns a Spec of a server whose wall clock [Server.ShiftClock] moves. It
// takes a C compiler for Linux on this host, as -race does; for etcd and Consul, which are
// in Go and read the time without the C library, a host that is amd64.
func (s Spec) WithClock() Spec {
	s.clock = true
	return s
}

// ShiftClock sets the server's wall clock to the host's and d, from one moment to the
// next, as an NTP step or an operator would; a negative d sets it back. Its monotonic
// clock stays. The shift survives a restart, but for servers in Go, and no StartEmpty.
func (s *Server) ShiftClock(ctx context.Context, d time.Duration) error {
	if !s.spec.clock {
		return fmt.Errorf("shift the clock of %s (%s): it was not started WithClock", s.spec.Name, s.Addr())
	}
	if s.spec.inGo {
		return s.shiftGoClock(ctx, d)
	}
	return s.Write(ctx, clockShift, strconv.AppendInt(nil, d.Milliseconds(), 10))
}

// withLibrary returns a Spec that preloads the library which moves the clock.
func (s Spec) withLibrary() (Spec, error) {
	library, err := clockshift()
	if err != nil {
		return s, err
	}
	env, files := maps.Clone(s.Env), s.Files
	if env == nil {
		env = make(map[string]string)
	}
	env["LD_PRELOAD"] = clockLibrary
	s.Env = env
	s.Files = func(ports []int) map[string]string {
		all := map[string]string{clockLibrary: library}
		if files != nil {
			maps.Copy(all, files(ports))
		}
		return all
	}
	return s, nil
}

// clockshift compiles the library, once.
var clockshift = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "distlock-clockshift-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	_, file, _, _ := runtime.Caller(0)
	source := filepath.Join(filepath.Dir(file), "..", "images", "base", "clockshift.c")
	library := filepath.Join(dir, "clockshift.so")
	out, err := exec.Command(compiler, "-shared", "-fPIC", "-O1", "-o", library, source).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("compile %s: %w\n%s", source, err, bytes.TrimSpace(out))
	}
	binary, err := os.ReadFile(library)
	return string(binary), err
})
