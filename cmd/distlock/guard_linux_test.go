package main

import (
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Where this is set, distlock is left the processes whose parents have ended, as the
// first process of a container is.
const beFirst = "DISTLOCK_TEST_BE_FIRST"

func init() {
	if os.Getenv(beFirst) == "" {
		return
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
}

// A child of the command that ends in a container is not waited for as a zombie.
func TestChildThatIsLeftToDistlock(t *testing.T) {
	t.Setenv(beFirst, "1")
	file, command := beat(t, "sleep 0.1; exit")
	p := invoke(t, append([]string{"run", "-backend", "memory", "-ttl", "4s", "k", "--"}, under(command)...)...)
	pid(t, file)
	p.signals(t, syscall.SIGTERM)
	p.ends(t, 128+15)
	if out := p.out.String(); out != "" {
		t.Errorf("got %q", out)
	}
}
