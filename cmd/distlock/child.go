//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// A child is the command, and all processes of its group.
type child struct {
	group int
	ended chan int // gets the exit status
}

// start runs command with more in its environment.
func start(command []string, more ...string) (*child, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), more...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = attributes()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{group: cmd.Process.Pid, ended: make(chan int, 1)}
	go func() { // ends with the command
		_ = cmd.Wait() // the state says more
		c.ended <- status(cmd.ProcessState)
	}()
	return c, nil
}

// signal sends s to the group.
func (c *child) signal(s syscall.Signal) {
	_ = syscall.Kill(-c.group, s) // it may be gone by now
}

// status is what a shell makes of the end of a process.
func status(p *os.ProcessState) int {
	if w, ok := p.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return exitSignal + int(w.Signal())
	}
	return p.ExitCode()
}

// cannotStart is the exit status of a command that start could not run.
func cannotStart(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return exitNotFound
	}
	return exitCannot
}
