package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
)

// mover is the program that moves the clock of a server in Go.
const mover = "/distlock-vdsoclock"

// permit lets a process in the container write to the memory of another one, also where
// the host keeps processes of one user apart.
func (s Spec) permit(h *container.HostConfig) {
	if s.clock && s.inGo {
		h.CapAdd = append(h.CapAdd, "SYS_PTRACE")
	}
}

// shiftGoClock moves the clock of a server that reads it without the C library.
func (s *Server) shiftGoClock(ctx context.Context, d time.Duration) error {
	if d%time.Second != 0 {
		return errors.New("shift the clock of a server in Go: whole seconds only")
	}
	program, err := vdsoclock()
	if err != nil {
		return err
	}
	if err := s.Write(ctx, mover, program); err != nil {
		return err
	}
	return s.run(ctx, fmt.Sprintf("chmod +x %s && %s %d", mover, mover, d/time.Second))
}

// vdsoclock compiles the program, once.
var vdsoclock = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "distlock-vdsoclock-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	_, file, _, _ := runtime.Caller(0)
	program := filepath.Join(dir, "vdsoclock")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.Join(filepath.Dir(file), "..", "cmd", "vdsoclock")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile %s: %w\n%s", build.Dir, err, out)
	}
	return os.ReadFile(program)
})
