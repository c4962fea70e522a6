//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	stdin    = 0
	anyGroup = 0
)

// inForeground reports whether standard input is a terminal that distlock may
// read: that of a job which the shell waits for. Only then it is ours to pass on.
func inForeground() bool {
	group, err := unix.IoctlGetInt(stdin, unix.TIOCGPGRP)
	return err == nil && group == syscall.Getpgrp()
}

// takeBack gives the terminal back to distlock's group when group has had it and
// is gone, for a script that goes on. A shell that has taken it since keeps it.
func takeBack(group int) {
	if now, err := unix.IoctlGetInt(stdin, unix.TIOCGPGRP); err != nil || group != anyGroup && now != group {
		return
	}
	signal.Ignore(syscall.SIGTTOU) // which stops those in the background that do this
	_ = unix.IoctlSetPointerInt(stdin, unix.TIOCSPGRP, syscall.Getpgrp())
}

// watchStops returns a channel that gets something whenever a child may have been
// stopped. With the command in the foreground Ctrl-Z stops it alone, and the
// shell, which waits for distlock, would never know.
func watchStops() chan os.Signal {
	stops := make(chan os.Signal, 1)
	signal.Notify(stops, syscall.SIGCHLD)
	return stops
}
