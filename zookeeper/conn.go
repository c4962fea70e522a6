package zookeeper

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// A greeting is what a server answers to a connection's first request.
type greeting struct {
	id      int64 // the session's; 0: there is none, or not any more
	timeout time.Duration
}

// maxGreeting bounds a greeting. It has 36 to 37 bytes.
const maxGreeting = 1024

// A conn is a connection of a link's.
type conn struct {
	net.Conn
	link    *link
	server  string
	in      *bufio.Reader // the library reads each packet in two parts
	greeted bool          // of the goroutine that reads
	broken  atomic.Bool   // a read has failed
	spoken  bool          // of the goroutine that writes, as is out
	out     []byte
}

func newConn(c net.Conn, l *link, server string) *conn {
	return &conn{Conn: c, link: l, server: server, in: bufio.NewReader(c)}
}

// cut ends the connection, so that the library makes another. A nil conn is none.
func (c *conn) cut() {
	if c != nil {
		_ = c.Conn.Close()
	}
}

// Read reads what the server says. The greeting is looked at first.
func (c *conn) Read(p []byte) (int, error) {
	if !c.greeted {
		if err := c.greet(); err != nil {
			c.broken.Store(true)
			c.link.fail(fmt.Errorf("greeting of %s: %w", c.server, err))
			return 0, err
		}
		c.greeted = true
	}
	n, err := c.in.Read(p)
	if err != nil {
		c.broken.Store(true)
	}
	return n, err
}

// opGetData is the request that Get sends.
const opGetData = 4

// Write sends a packet of the library's. Those of Get ask for a watch: their
// last byte says so. The library's own GetW does the same, but keeps each watch
// in a table with a channel, from which it cannot be removed, and sets them all
// again after a reconnection in a way that races with the first answer.
func (c *conn) Write(p []byte) (int, error) {
	first := !c.spoken // asks for a session, and has the high half of a zxid where others have their kind
	c.spoken = true
	if first || len(p) <= 12 || binary.BigEndian.Uint32(p[8:]) != opGetData {
		return c.Conn.Write(p)
	}
	c.out = append(c.out[:0], p...)
	c.out[len(p)-1] = 1
	return c.Conn.Write(c.out)
}

// greet waits for the greeting and leaves it to be read.
func (c *conn) greet() error {
	if err := c.SetReadDeadline(time.Now().Add(c.link.wait())); err != nil {
		return err
	}
	head, err := c.in.Peek(4)
	if err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head)
	if n > maxGreeting {
		return errors.New("not that of a ZooKeeper server")
	}
	packet, err := c.in.Peek(4 + int(n))
	if err != nil {
		return err
	}
	g, err := parseGreeting(packet[4:])
	if err != nil {
		return err
	}
	if err := c.link.greeted(g); err != nil {
		return err
	}
	return c.SetReadDeadline(time.Time{})
}

// parseGreeting reads the fields of a connect response: the protocol's version,
// the time-out in milliseconds, the session's id, and a password.
func parseGreeting(p []byte) (greeting, error) {
	if len(p) < 16 {
		return greeting{}, io.ErrUnexpectedEOF
	}
	timeout := int32(binary.BigEndian.Uint32(p[4:]))
	return greeting{
		id:      int64(binary.BigEndian.Uint64(p[8:])),
		timeout: time.Duration(timeout) * time.Millisecond,
	}, nil
}
