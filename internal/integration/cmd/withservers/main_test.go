package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bound is how long a test waits for what must happen.
const bound = 60 * time.Second

// program is the built command.
var program string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "withservers")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "withservers")
		if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, ".").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%s%v\n", out, err)
			return 1
		}
		return m.Run()
	}())
}

// run runs withservers to its end and returns its exit status and output.
func run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	noneOf(t, cmd.Process.Pid)
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// containersOf returns how many containers a process has, or had.
func containersOf(t *testing.T, pid int) int {
	t.Helper()
	return count(t, pid, "ps", "-a")
}

// networksOf returns how many networks a process has, or had.
func networksOf(t *testing.T, pid int) int {
	t.Helper()
	return count(t, pid, "network", "ls")
}

// count returns how many things that docker lists are those of a process.
func count(t *testing.T, pid int, list ...string) int {
	t.Helper()
	out, err := exec.Command("docker", append(list, "--format", `{{.Label "distlock-test.owner"}}`)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(out), fmt.Sprintf("/%d/", pid))
}

func noneOf(t *testing.T, pid int) {
	t.Helper()
	if c, n := containersOf(t, pid), networksOf(t, pid); c+n > 0 {
		t.Errorf("%d containers and %d networks left", c, n)
	}
}

func TestStatusAndEnvironment(t *testing.T) {
	t.Parallel()
	status, out, errs := run(t, "-servers", "redis,valkey91", "-dir", "/", "--", "sh", "-c", "pwd; env; exit 7")
	if status != 7 {
		t.Errorf("status is %d, want the command's 7; %s", status, errs)
	}
	for _, want := range []string{
		"\n/\n", "\nDISTLOCK_TEST_REDIS=127.0.0.1:", "\nDISTLOCK_TEST_VALKEY91=127.0.0.1:", "\nDISTLOCK_TEST_REQUIRE=1\n",
	} {
		if !strings.Contains("\n"+out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
	if got := strings.Count(errs, "\n"); got != 2 {
		t.Errorf("got %d lines, want one per server:\n%s", got, errs)
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		status     int
		args       []string
	}{
		{"unknown server", `no server "nosuch"; there are: redis,`, 2, []string{"-servers", "nosuch", "--", "true"}},
		{"no command", "no command", 2, []string{"-servers", "none"}},
		{"no such command", "nosuchcommand", 1, []string{"-servers", "none", "--", "nosuchcommand"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			status, _, errs := run(t, c.args...)
			if status != c.status || !strings.Contains(errs, c.want) {
				t.Errorf("got %d, %q, want %d, %q", status, errs, c.status, c.want)
			}
		})
	}
}

func TestNothingIsLeftAfterASignal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		signal os.Signal
		status int
	}{
		{"SIGINT", syscall.SIGINT, 130},
		{"SIGTERM", syscall.SIGTERM, 130},
		{"SIGKILL", syscall.SIGKILL, -1}, // the watcher's case
	} {
		for _, moment := range []string{"starting", "running"} {
			t.Run(c.name+" while "+moment, func(t *testing.T) {
				t.Parallel()
				cmd := exec.Command(program, "-servers", "redis,etcd-trio", "--", "sh", "-c", "echo up; exec sleep 10")
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				pid := cmd.Process.Pid
				if moment == "running" {
					out.Read(make([]byte, 1))
				}
				eventually(t, "containers", func() bool { return containersOf(t, pid) > 1 && networksOf(t, pid) > 0 })
				cmd.Process.Signal(c.signal)
				cmd.Wait()
				if got := cmd.ProcessState.ExitCode(); got != c.status {
					t.Errorf("status is %d, want %d", got, c.status)
				}
				if c.signal == syscall.SIGKILL {
					time.Sleep(2 * time.Second) // the watcher's second round
					eventually(t, "removal", func() bool { return containersOf(t, pid)+networksOf(t, pid) == 0 })
				}
				noneOf(t, pid)
			})
		}
	}
}

// Stands for: a benchmark that goes on for hours, as only "go run" was told to end.
func TestWhatTheCommandHasStartedEndsToo(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(program, "-servers", "none", "--", "sh", "-c", "sleep 300 & echo $!; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
	eventually(t, "the end of the command's child", func() bool { return syscall.Kill(pid, 0) != nil })
}

// eventually polls a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(bound)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("not after %v: %s", bound, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
