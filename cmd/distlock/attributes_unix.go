//go:build unix && !linux

package main

import "syscall"

// attributes put the command in a process group of its own, in the foreground
// of the terminal or not.
func attributes(foreground bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Foreground: foreground, Ctty: stdin}
}
