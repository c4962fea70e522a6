//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A beat is a command that writes its process id to a file, and says on TERM
// what it does about it.
func beat(t *testing.T, onTerm string) (file string, command []string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "pid")
	return file, []string{"sh", "-c", fmt.Sprintf(
		`trap '%s' TERM; echo $$ >%s.new; mv %[2]s.new %[2]s; while :; do sleep 0.05; done`, onTerm, file)}
}

// under has another shell run command, which has no part in its output: that would
// be waited for.
func under(command []string) []string {
	return append([]string{"sh", "-c", `"$@" >/dev/null 2>&1; echo goes on`, "sh"}, command...)
}

// pid waits until the command of file runs. None outlives a test that fails.
func pid(t *testing.T, file string) (n int) {
	t.Helper()
	eventually(t, "the command runs", func() bool {
		text, err := os.ReadFile(file)
		if err == nil {
			n, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return err == nil
	})
	t.Cleanup(func() {
		if t.Failed() { // who is deaf to distlock's signals would run for ever
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	})
	return n
}

// isAlive reports whether process n runs. One that nobody has waited for does
// not run.
func isAlive(n int) bool {
	if syscall.Kill(n, 0) != nil {
		return false
	}
	state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n))
	return err != nil || !strings.Contains(string(state), ") Z ")
}

// A command that a signal has ended leaves a child that goes on: the lock is kept until
// that has ended by itself.
func TestChildThatStopsLater(t *testing.T) {
	t.Parallel()
	stopped := filepath.Join(t.TempDir(), "stopped")
	file, command := beat(t, "sleep 0.5; touch "+stopped+"; exit")
	p := invoke(t, append([]string{"run", "-backend", "memory", "k", "--"}, under(command)...)...)
	pid(t, file)
	p.signals(t, syscall.SIGTERM)
	p.ends(t, 128+15)
	if _, err := os.Stat(stopped); err != nil {
		t.Errorf("distlock has ended before the command's child: %v\n%s", err, p.out.String())
	}
	if out := p.out.String(); out != "" {
		t.Errorf("got %q", out)
	}
}

// The same with a child that is deaf to the signal: it is killed.
func TestChildThatIsDeaf(t *testing.T) {
	t.Parallel()
	file, command := beat(t, "")
	p := invoke(t, append([]string{"run", "-backend", "memory", "-ttl", "2s", "k", "--"}, under(command)...)...)
	n := pid(t, file)
	p.signals(t, syscall.SIGTERM)
	p.ends(t, 128+15)
	if isAlive(n) {
		t.Error("the command's child runs on")
	}
	if out := p.out.String(); !strings.Contains(out, "killing what") {
		t.Errorf("got %q", out)
	}
}

// A terminal's signals reach the command only.
func TestChildOfACommandThatWasKilled(t *testing.T) {
	t.Parallel()
	file, command := beat(t, "")
	p := invoke(t, append([]string{
		"run", "-backend", "memory", "-ttl", "2s", "k", "--", "sh", "-c",
		`"$@" >/dev/null 2>&1 & while ! [ -e "$0" ]; do sleep 0.05; done; kill -9 $$`, file,
	}, command...)...)
	n := pid(t, file)
	p.ends(t, 128+9)
	if isAlive(n) {
		t.Error("the command's child runs on")
	}
}

// Of a command that ends by itself nothing is waited for.
func TestChildInTheBackground(t *testing.T) {
	t.Parallel()
	file, command := beat(t, "exit")
	p := invoke(t, append([]string{
		"run", "-backend", "memory", "-ttl", "1h", "k", "--", "sh", "-c",
		`"$@" >/dev/null 2>&1 & while ! [ -e "$0" ]; do sleep 0.05; done; exit 3`, file,
	}, command...)...)
	p.ends(t, 3)
	n := pid(t, file)
	if !isAlive(n) {
		t.Error("the child in the background was ended")
	}
	_ = syscall.Kill(n, syscall.SIGTERM)
}
