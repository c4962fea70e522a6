//go:build unix

// Distlock runs a command under a distributed lock, as flock(1) does under a
// lock of one machine; and it tells an operator who has a lock, and breaks it.
//
//	distlock run -backend redis -addr 127.0.0.1:6379 nightly-report -- /usr/local/bin/report --all
//	distlock inspect -backend redis -addr 127.0.0.1:6379 nightly-report
//	distlock break -backend redis -addr 127.0.0.1:6379 nightly-report 1757000000000042
//
// Run waits for the key, runs the command, renews the lock meanwhile, and
// releases it. The command finds the key and the fencing token of its grant in
// DISTLOCK_KEY and DISTLOCK_TOKEN: whatever it writes elsewhere should carry
// the token, so that the resource can refuse a holder that comes too late.
//
// When renewals have failed for a third of the TTL the command gets SIGTERM, and
// shortly before the lock's deadline SIGKILL, so that it is gone before anybody
// else can have the lock. It is killed at once when the lock is found to be
// gone. Not promised: if distlock itself is stopped for longer than the TTL,
// nobody stops the command until it goes on; only the token helps then.
//
// A lock-delay keeps the next holder out for longer after a distlock that was killed or
// cut off, which is what helps where files or programs are written to that can
// compare no tokens (-lock-delay). A command that hangs keeps the lock until it has
// had it for -max-hold, and is killed then.
//
// The command runs in a process group of its own, which signals to distlock
// (SIGINT, SIGTERM, SIGHUP, SIGQUIT) are passed on to, and has distlock's
// standard input, output and error. If distlock may read the terminal, so may the
// command: it is in the foreground then, gets Ctrl-C itself, and cannot be
// suspended, as a lock would be held for nothing meanwhile. One in the background
// must not read the terminal: that stops it. On Linux it dies with distlock;
// what it has started does not.
//
// If the command ends by itself, the lock is released at once: processes that it leaves
// in the background are not waited for. If it is ended by a signal, or ends after one was
// passed on or after the SIGTERM above, the lock stays taken until no process of its
// group is left. Those that go on have until the deadline that the lock has when
// the command ends, one TTL at most, and then get SIGKILL. A process that has made a
// group of its own, as with setsid, is not found.
//
// Inspect prints one line of fields, such as
//
//	held=true token=1757000000000042 left=21.3s waiters=2 holder="web-3/4711"
//
// or with -json an object. Left is how long the service keeps the key from others if
// it hears nothing more of the holder; what a service does not tell is unknown.
// Break frees the key, if the grant with this token still has it: see Client.Break
// for what that means to its holder, who is not asked.
//
// Exit status of run: the command's own, or 128 + n if signal n ended it, or
//
//	 64  called wrongly
//	 69  the lock service failed: nothing was run
//	 75  not acquired: somebody else has the lock; nothing was run
//	 76  the lock was lost, or about to be, and the command was stopped; or it had ended under a lock that was lost:
//	     the last line on standard error says with which status
//	126  the command cannot be run
//	127  the command was not found
//
// Exit status of inspect and break:
//
//	 0  held; the lock was broken
//	 1  not held; that grant does not have the key, and nothing was done
//	64  called wrongly, or the backend has no such thing
//	65  what is under the key is no lock of this library, and was left as it is
//	69  the lock service failed, and may have done it or not: ask again
//
// The address can also come from DISTLOCK_ADDR, where other users of the machine
// do not see it, and the backend from DISTLOCK_BACKEND. The command does not get
// DISTLOCK_ADDR. Backends are memory, redis, redlock, etcd, zookeeper, consul and
// postgres, with the defaults of their packages but for these: redlock has tokens
// (Options.Fenced), which all who share its keys must have too, and postgres
// creates its table if it is missing. An etcd or Consul URL may have a user and
// a password; Consul's token comes from CONSUL_HTTP_TOKEN.
//
// The command is in the module of the library, since it adds no module to its
// dependencies; it is no package that programs import, so that it may import all
// backends.
package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
)

// What distlock itself exits with.
const (
	exitNot      = 1
	exitUsage    = 64 // EX_USAGE of sysexits.h, as those up to 76
	exitForeign  = 65 // EX_DATAERR
	exitService  = 69 // EX_UNAVAILABLE
	exitHeld     = 75 // EX_TEMPFAIL
	exitLost     = 76 // EX_PROTOCOL
	exitCannot   = 126
	exitNotFound = 127
	exitSignal   = 128 // and the signal's number
	maxExit      = 255
)

// verbs are what it can do.
var verbs = map[string]func(args []string) int{"run": runCommand, "inspect": inspectKey, "break": breakKey}

// run does what args say and returns the exit status.
func run(args []string) int {
	if len(args) > 0 {
		if do, ok := verbs[args[0]]; ok {
			return do(args[1:])
		}
	}
	if len(args) == 1 && slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		fmt.Print(usage)
		return 0
	}
	fmt.Fprint(os.Stderr, usage)
	complain("the first word must be run, inspect or break")
	return exitUsage
}

func main() {
	runtime.LockOSThread() // a child on Linux dies with the thread that started it
	os.Exit(run(os.Args[1:]))
}

// complain prints one line for whoever reads the mail of cron.
func complain(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "distlock: "+format+"\n", args...)
}
