package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal returns the two ends of a new one.
func terminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Close() })
	return ours, theirs
}

// The command reads the terminal, Ctrl-Z or not, and the script that has called
// distlock can read it again.
func TestTerminal(t *testing.T) {
	t.Parallel()
	ours, theirs := terminal(t)
	cmd := exec.Command("sh", "-c", `"$0" run -backend memory k -- sh -c 'echo ready; read x; echo got $x; sleep 0.1'
		read y; echo then $y`, os.Args[0])
	cmd.Env = append(os.Environ(), beDistlock+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var seen atomic.Pointer[string]
	seen.Store(new(string))
	go func() { // ends with the terminal
		b := make([]byte, 1024)
		for {
			n, err := ours.Read(b)
			text := *seen.Load() + string(b[:n])
			seen.Store(&text)
			if err != nil {
				return
			}
		}
	}()
	for _, step := range []struct{ says, write string }{
		{"ready", "\x1aone\n"}, {"got one", "two\n"}, {"then two", ""},
	} {
		eventually(t, step.says, func() bool { return strings.Contains(*seen.Load(), step.says) })
		if _, err := ours.WriteString(step.write); err != nil {
			t.Fatal(err)
		}
	}
}
