package servers

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
)

// prepared says that prepare has succeeded; preparing guards it.
var (
	preparing sync.Mutex
	prepared  bool
)

// prepare makes sure, once, that containers of processes that are gone are removed and
// that a watcher removes those of this one. After a failure the next call tries again.
func prepare(ctx context.Context) error {
	preparing.Lock()
	defer preparing.Unlock()
	if prepared {
		return nil
	}
	if _, err := Sweep(ctx); err != nil {
		return err
	}
	if _, err := watch(); err != nil {
		return err
	}
	prepared = true
	return nil
}

// watcher removes the containers and networks of its parent when the parent ends, which it
// learns from the end of its input. The second round is for a container that the
// engine was about to create.
const watcher = `cat >/dev/null
for round in 1 2; do
	ids=$(docker ps -aq --filter "label=$1")
	[ -z "$ids" ] || docker rm -fv $ids
	ids=$(docker network ls -q --filter "label=$1")
	[ -z "$ids" ] || docker network rm $ids
	[ $round = 2 ] || sleep 1
done`

// watch starts the watcher, once. It has its own session, so that Ctrl-C does not
// end it, and no output, so that "go test" does not wait for it. Without a docker
// command there is none, and the next run's Sweep has to do.
//
// It returns the watcher's input, and thereby keeps it reachable: nobody closes it but
// the end of this process.
var watch = sync.OnceValues(func() (io.Closer, error) {
	if _, err := exec.LookPath("docker"); err != nil {
		return nil, nil
	}
	cmd := exec.Command("sh", "-c", watcher, "watcher", ownerLabel+"="+self())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("watcher: %w", err)
	}
	return input, nil
})
