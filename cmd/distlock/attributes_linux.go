package main

import "syscall"

// attributes put the command in a process group of its own, in the foreground
// of the terminal or not, and have it killed when distlock ends without having
// stopped it.
func attributes(foreground bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Foreground: foreground, Ctty: stdin, Pdeathsig: syscall.SIGKILL}
}
