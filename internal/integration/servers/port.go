package servers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Ports are taken from below the range that kernels take outgoing ports from
// (Linux: from 32768, others: from 49152), so that nothing else gets the port of a
// server that is down.
const (
	firstPort = 20000
	lastPort  = 31999
)

// A port is reserved for one server of one process, until it is released or the
// process ends.
type port struct {
	number int
	lock   *os.File // flock'ed: the reservation
}

// reserve returns n ports that nothing listens on and that no other process that
// uses this package has reserved.
func reserve(n int) ([]port, error) {
	dir := filepath.Join(os.TempDir(), "distlock-test-ports."+strconv.Itoa(os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var ports []port
	for range 1000 {
		p, err := try(dir, firstPort+rand.IntN(lastPort-firstPort+1))
		if err == nil {
			ports = append(ports, p)
		}
		if len(ports) == n {
			return ports, nil
		}
	}
	for _, p := range ports {
		p.release()
	}
	return nil, fmt.Errorf("no %d free ports", n)
}

// try reserves one port, or fails because it is in use.
func try(dir string, number int) (port, error) {
	f, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(number)), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return port{}, err
	}
	// A second reservation in this process is refused too: each has its own open file.
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = probe(number)
	}
	if err != nil {
		return port{}, errors.Join(err, f.Close())
	}
	return port{number, f}, nil
}

// probe returns nil if nothing listens on the port.
func probe(number int) error {
	l, err := net.Listen("tcp4", net.JoinHostPort(host, strconv.Itoa(number)))
	if err != nil {
		return err
	}
	return l.Close()
}

// release gives the reservation back. A second release does nothing.
func (p port) release() {
	_ = p.lock.Close()
}
