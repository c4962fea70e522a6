//go:build unix && !linux

package main

import "syscall"

// attributes put the command in a process group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
