//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// A child is the command, and all processes of its group.
type child struct {
	group   int
	ended   chan ending    // gets how the first of them has ended
	stopped chan os.Signal // gets something when it may have to be continued; nil if that is not ours to do
}

// An ending is how a process has ended.
type ending struct {
	status   int // what a shell makes of it
	bySignal bool
}

// start runs command with more in its environment, but not the address, in which
// a password may be.
func start(command []string, more ...string) (*child, error) {
	cmd := exec.Command(command[0], command[1:]...)
	environ := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, addrEnv+"=") })
	cmd.Env = append(environ, more...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	c := &child{ended: make(chan ending, 1)}
	foreground := inForeground()
	if foreground {
		c.stopped = watchStops()
	}
	cmd.SysProcAttr = attributes(foreground)
	if err := cmd.Start(); err != nil {
		if foreground {
			takeBack(anyGroup) // what could not be run may have had it
		}
		return nil, err
	}
	c.group = cmd.Process.Pid
	go func() { // ends with the command
		_ = cmd.Wait() // the state says more
		takeBack(c.group)
		c.ended <- endOf(cmd.ProcessState)
	}()
	return c, nil
}

// signal sends s to the group.
func (c *child) signal(s syscall.Signal) {
	_ = syscall.Kill(-c.group, s) // it may be gone by now
}

// isThere reports whether the group has processes. To be asked once the first has ended.
func (c *child) isThere() bool {
	for { // those that are left to distlock, as the first process of a container, would stay as zombies
		if n, _ := syscall.Wait4(-c.group, nil, syscall.WNOHANG, nil); n <= 0 {
			break
		}
	}
	return !errors.Is(syscall.Kill(-c.group, 0), syscall.ESRCH) // EPERM: somebody else's
}

func endOf(p *os.ProcessState) ending {
	if w, ok := p.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return ending{exitSignal + int(w.Signal()), true}
	}
	return ending{p.ExitCode(), false}
}

// cannotStart is the exit status of a command that start could not run.
func cannotStart(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return exitNotFound
	}
	return exitCannot
}
