package main

import "syscall"

// attributes put the command in a process group of its own, and have it killed
// when distlock ends without having stopped it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
