// Command withservers runs a command with test servers.
//
//	go run ./cmd/withservers [-servers NAMES] [-dir DIR] -- COMMAND [ARGUMENTS]
//
// (where "go run" makes 1 of every exit status but 0).
//
// It starts the named servers in containers, all at once, puts their addresses into
// the command's environment (DISTLOCK_TEST_REDIS and so on) together with
// DISTLOCK_TEST_REQUIRE=1, which turns skipped tests into failed ones, runs the
// command, and ends with its exit status. The containers are removed in every case,
// also when a start fails and on SIGINT and SIGTERM, which the command gets too.
// What an earlier run left that was killed is removed first.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/distlock-go/distlock/internal/integration/servers"
)

// patience is how long a command may take to end after a signal, and then what it has
// started.
const patience = 20 * time.Second

// interrupted is the exit status after a signal, unless the command ended with one of
// its own: what a shell says of a command that SIGINT ended.
const interrupted = 130

func main() {
	names := flag.String("servers", "all", "servers to start, with commas between: all, none, "+strings.Join(known(), ", "))
	dir := flag.String("dir", "", "folder to run the command in")
	flag.Parse()
	// Not for the command, which has a process group of its own: it is sent the signal below.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status, err := run(ctx, *names, *dir, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "withservers:", err)
		status = max(status, 1)
	}
	os.Exit(status)
}

// run starts servers, runs the command and removes the servers.
func run(ctx context.Context, names, dir string, command []string) (status int, err error) {
	entries, err := choose(names)
	if err != nil {
		return 2, err
	}
	if len(command) == 0 {
		return 2, errors.New("no command given")
	}
	n, err := servers.Sweep(context.WithoutCancel(ctx))
	if err != nil {
		return 1, err
	}
	if n > 0 {
		fmt.Fprintf(os.Stderr, "withservers: removed %d containers of runs that were killed\n", n)
	}
	defer func() {
		_, rerr := servers.RemoveOwn(context.WithoutCancel(ctx))
		err = errors.Join(err, rerr)
	}()
	env, err := startAll(ctx, entries)
	switch {
	case ctx.Err() != nil:
		return interrupted, nil
	case err != nil:
		return 1, err
	}
	return execute(ctx, dir, append(env, "DISTLOCK_TEST_REQUIRE=1"), command)
}

// known returns the names of all servers.
func known() []string {
	var names []string
	for _, e := range servers.Entries() {
		names = append(names, e.Name)
	}
	return names
}

// choose returns the entries for what -servers was set to.
func choose(names string) ([]servers.Entry, error) {
	all := servers.Entries()
	switch names {
	case "all":
		return all, nil
	case "none":
		return nil, nil
	}
	var chosen []servers.Entry
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(e servers.Entry) bool { return e.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no server %q; there are: %s", name, strings.Join(known(), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// execute runs the command and returns its exit status. When ctx ends, the command
// and all that it has started are asked to end, and killed if they do not: "go run"
// and make do not pass a signal on that they alone were sent.
func execute(ctx context.Context, dir string, env, command []string) (int, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	group := func(s syscall.Signal) error { return syscall.Kill(-cmd.Process.Pid, s) }
	cmd.Cancel = func() error { return group(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	err := cmd.Run()
	if ctx.Err() != nil && cmd.Process != nil {
		for end := time.Now().Add(patience); group(0) == nil && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		_ = group(syscall.SIGKILL) // most often there is none left
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode(), nil
	case ctx.Err() != nil:
		return interrupted, nil
	case err != nil:
		return 1, fmt.Errorf("%s: %w", command[0], err)
	}
	return 0, nil
}
