//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is distlock itself where this is set.
const beDistlock = "DISTLOCK_TEST_BE_DISTLOCK"

func TestMain(m *testing.M) {
	if os.Getenv(beDistlock) != "" {
		main()
	}
	os.Exit(m.Run())
}

// A process is distlock under way.
type process struct {
	*exec.Cmd
	out bytes.Buffer // both outputs; to be read after wait
}

// invoke starts one, which is killed at the end.
func invoke(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], args...)}
	p.Env = append(os.Environ(), beDistlock+"=1", "DISTLOCK_ADDR=", "DISTLOCK_BACKEND=")
	p.Stdout, p.Stderr = &p.out, &p.out
	p.WaitDelay = 10 * time.Second // a command that outlives it has its output
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	return p
}

// signals sends s to distlock.
func (p *process) signals(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// ends checks the exit status.
func (p *process) ends(t *testing.T, want int) {
	t.Helper()
	_ = p.Wait()
	if got := p.ProcessState.ExitCode(); got != want {
		t.Errorf("got exit status %d, want %d\n%s", got, want, p.out.String())
	}
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	notExecutable := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(notExecutable, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	const nowhere = "127.0.0.1:1"
	for name, test := range map[string]struct {
		args string
		want int
		says string
	}{
		"ends well":       {"run -backend memory k -- true", 0, ""},
		"passed on":       {"run -backend memory k -- sh -c exit${IFS}3", 3, ""},
		"killed":          {"run -backend memory k -- sh -c kill${IFS}-TERM${IFS}$$", 128 + 15, ""},
		"token":           {"run -backend memory my/key -- sh -c echo${IFS}$DISTLOCK_KEY=$DISTLOCK_TOKEN", 0, "my/key=1"},
		"dashes":          {"run -backend memory k -- echo -- -x", 0, "-- -x"},
		"not found":       {"run -backend memory k -- no-such-command-here", exitNotFound, "no-such-command-here"},
		"not executable":  {"run -backend memory k -- " + notExecutable, exitCannot, "permission denied"},
		"service is down": {"run -backend redis -addr " + nowhere + " k -- echo ran", exitService, "connection refused"},
		"help":            {"run -help", 0, "HOST:PORT"},
		"nothing":         {"", exitUsage, "usage"},
		"help alone":      {"-h", 0, ""},
		"no command":      {"run -backend memory k --", exitUsage, "KEY -- COMMAND"},
		"no dashes":       {"run -backend memory k echo x", exitUsage, "KEY -- COMMAND"},
		"no backend":      {"run k -- true", exitUsage, "memory, redis"},
		"no address":      {"run -backend redis k -- true", exitUsage, "-addr is missing"},
		"bad URL":         {"run -backend redis -addr redis://:secret@x:y k -- true", exitUsage, "no URL"},
		"password":        {"run -backend redis -addr x:secret@h:1 k -- true", exitUsage, "no user or password"},
		"redlock":         {"run -backend redlock -addr h:1,redis://:secret@x:y k -- true", exitUsage, "no URL"},
		"two nodes":       {"run -backend redlock -addr h:1,h:2 k -- true", exitUsage, "3"},
		"etcd":            {"run -backend etcd -addr http://u:secret/@h:1 k -- true", exitUsage, "no URL"},
		"zookeeper":       {"run -backend zookeeper -addr u:secret@h:1 k -- true", exitUsage, "no user or password"},
		"consul":          {"run -backend consul -addr http://u:1/secret@h:1 k -- true", exitUsage, "no URL"},
		"consul is down":  {"run -backend consul -addr http://u:secret@" + nowhere + " k -- true", exitService, "connection refused"},
		"postgres":        {"run -backend postgres -addr postgres://u:secret/@h:1 k -- true", exitUsage, "no URL"},
		"bad TTL":         {"run -backend memory -ttl 1ns k -- true", exitUsage, "TTL is 1ns"},
		"bad held-exit":   {"run -backend memory -held-exit 256 k -- true", exitUsage, "-held-exit is 256"},
		"less than 0":     {"run -backend memory -held-exit -1 k -- true", exitUsage, "-held-exit is -1"},
		"bad max-hold":    {"run -backend memory -max-hold -1s k -- true", exitUsage, "max-hold is -1s"},
		"max-hold":        {"run -backend memory -max-hold 1s k -- sleep 60", exitLost, "ended with status 137"},
		"bad lock-delay":  {"run -backend memory -lock-delay x k -- true", exitUsage, "lock-delay"},
		"long lock-delay": {"run -backend memory -lock-delay 2h k -- true", exitUsage, "lock-delay is 2h"},
		"no flag":         {"run -nope k -- true", exitUsage, "nope"},
		"no verb":         {"-backend memory k -- true", exitUsage, "run, inspect or break"},

		"inspect, free":       {"inspect -backend memory k", exitNot, `held=false token=0 left=0s waiters=0 holder=""`},
		"inspect, as JSON":    {"inspect -backend memory -json k", exitNot, `{"held":false,"token":"0","left_seconds":0,"waiters":0,"holder":""}`},
		"inspect, help":       {"inspect -help", 0, "-json"},
		"inspect, no key":     {"inspect -backend memory", exitUsage, "want KEY"},
		"inspect, two keys":   {"inspect -backend memory k l", exitUsage, "want KEY"},
		"inspect, long key":   {"inspect -backend memory " + strings.Repeat("k", 513), exitUsage, "512"},
		"inspect, no backend": {"inspect k", exitUsage, "memory, redis"},
		"inspect, down":       {"inspect -backend redis -addr " + nowhere + " k", exitService, "connection refused"},
		"inspect, password":   {"inspect -backend redis -addr x:secret@h:1 k", exitUsage, "no user or password"},
		"break, free":         {"break -backend memory k 1", exitNot, "does not have the key"},
		"break, help":         {"break -help", 0, "-lock-delay"},
		"break, no token":     {"break -backend memory k", exitUsage, "want KEY TOKEN"},
		"break, bad token":    {"break -backend memory k 0", exitUsage, "token is"},
		"break, bad delay":    {"break -backend memory -lock-delay x k 1", exitUsage, "lock-delay"},
		"break, long delay":   {"break -backend memory -lock-delay 2h k 1", exitUsage, "lock-delay is 2h"},
		"break, most delay":   {"break -backend zookeeper -lock-delay 36s -timeout 100ms -addr " + nowhere + " k 1", exitService, "connection refused"},
		"break, more":         {"break -backend zookeeper -lock-delay 37s -timeout 100ms -addr " + nowhere + " k 1", exitUsage, "lock-delay"},
		"break, down":         {"break -backend redis -addr " + nowhere + " k 1", exitService, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := invoke(t, strings.Fields(test.args)...)
			p.ends(t, test.want)
			out := p.out.String()
			if !strings.Contains(out, test.says) {
				t.Errorf("got %q, want it to say %q", out, test.says)
			}
			if strings.Contains(out, "ran\n") || strings.Contains(out, "secret") {
				t.Errorf("got %q", out)
			}
		})
	}
}

// The address, and the password in it, stays with distlock.
func TestAddressIsNotPassedOn(t *testing.T) {
	t.Setenv("DISTLOCK_TEST_OTHER", "kept")
	p := invoke(t, "run", "-backend", "memory", "k", "--", "env")
	p.ends(t, 0)
	if out := p.out.String(); strings.Contains(out, addrEnv+"=") || !strings.Contains(out, "DISTLOCK_TEST_OTHER=kept") {
		t.Errorf("got environment %q", out)
	}
}

// Signals to distlock reach the command, whose end is distlock's.
func TestSignalsArePassedOn(t *testing.T) {
	t.Parallel()
	ready := filepath.Join(t.TempDir(), "ready")
	p := invoke(t, "run", "-backend", "memory", "k", "--", "sh", "-c",
		`trap 'echo got it; exit 5' TERM; touch `+ready+`; while :; do sleep 0.05; done`)
	eventually(t, "the command runs", func() bool { _, err := os.Stat(ready); return err == nil })
	p.signals(t, syscall.SIGTERM)
	p.ends(t, 5)
	if !strings.Contains(p.out.String(), "got it") {
		t.Errorf("got %q", p.out.String())
	}
}

// eventually polls until f is true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}
