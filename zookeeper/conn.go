package zookeeper

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
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

// A conn is a connection of a link's. It sees every packet, and changes two kinds
// of requests on their way, as the client library cannot say what is needed:
//
//   - A read asks for a watch, which its last byte says. The library's own reads with
//     a watch keep it in a table with a channel, from which it cannot be removed, and
//     set all of them again after a reconnection in a way that races with the first
//     answer.
//   - The creation of an ephemeral sequential node asks for the node's Stat, by the
//     kind of request that is so answered. The library reads the path from the answer
//     and not what is behind it; the link gets the czxid, which is the token.
type conn struct {
	net.Conn
	link    *link
	server  string
	in      *bufio.Reader // the library reads each packet in two parts
	greeted bool          // of the goroutine that reads, as is left
	left    int           // of the packet that is being read
	broken  atomic.Bool   // a read has failed
	spoken  bool          // of the goroutine that writes, as is out
	out     []byte

	mu       sync.Mutex // guards creating
	creating map[int32]struct{}
}

func newConn(c net.Conn, l *link, server string) *conn {
	return &conn{Conn: c, link: l, server: server, in: bufio.NewReader(c), creating: make(map[int32]struct{})}
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
	if c.left == 0 {
		if err := c.inspect(); err != nil {
			c.broken.Store(true)
			return 0, err
		}
	}
	n, err := c.in.Read(p[:min(len(p), c.left)])
	c.left -= n
	if err != nil {
		c.broken.Store(true)
	}
	return n, err
}

// The kinds of requests that are changed, and what the creation becomes.
const (
	opCreate, opGetData, opCreate2 = 1, 4, 15
	ephemeralSequential            = 3
)

// maxAnswer bounds the answers of servers, of which the longest are lists of nodes.
const maxAnswer = 1 << 30

// The parts of packets, in bytes: the length before each; number and kind of a
// request; number, zxid and error code of an answer.
const lengthSize, requestHeader, answerHeader = 4, 8, 16

// Write sends a packet of the library's, which is always whole.
func (c *conn) Write(p []byte) (int, error) {
	first := !c.spoken // asks for a session, and has the high half of a zxid where others have their kind
	c.spoken = true
	if first || len(p) < lengthSize+requestHeader+4 {
		return c.Conn.Write(p)
	}
	last := binary.BigEndian.Uint32(p[len(p)-4:])
	switch kind := binary.BigEndian.Uint32(p[8:]); {
	case kind == opGetData:
		c.out = append(c.out[:0], p...)
		c.out[len(p)-1] = 1
	case kind == opCreate && last == ephemeralSequential:
		c.out = append(c.out[:0], p...)
		binary.BigEndian.PutUint32(c.out[8:], opCreate2)
		c.mu.Lock()
		c.creating[int32(binary.BigEndian.Uint32(p[4:]))] = struct{}{}
		c.mu.Unlock()
	default:
		return c.Conn.Write(p)
	}
	return c.Conn.Write(c.out)
}

// inspect waits for the next packet, and takes the czxid from the answer to a
// creation: behind the path, which has its length before it.
func (c *conn) inspect() error {
	head, err := c.in.Peek(lengthSize)
	if err != nil {
		return err
	}
	size := lengthSize + int(binary.BigEndian.Uint32(head))
	if size < lengthSize || size > maxAnswer {
		return errors.New("an answer of impossible length")
	}
	c.left = size
	if size < lengthSize+answerHeader {
		return nil
	}
	if head, err = c.in.Peek(lengthSize + answerHeader); err != nil {
		return err
	}
	xid, failed := int32(binary.BigEndian.Uint32(head[4:])), binary.BigEndian.Uint32(head[16:]) != 0
	c.mu.Lock()
	_, creates := c.creating[xid]
	delete(c.creating, xid)
	c.mu.Unlock()
	if !creates || failed {
		return nil
	}
	packet, err := c.in.Peek(size)
	if err != nil {
		return err
	}
	body := packet[lengthSize+answerHeader:]
	if len(body) < 4 {
		return io.ErrUnexpectedEOF
	}
	end := 4 + int(binary.BigEndian.Uint32(body))
	if end < 4 || len(body) < end+8 {
		return io.ErrUnexpectedEOF
	}
	c.link.created(string(body[4:end]), int64(binary.BigEndian.Uint64(body[end:])))
	return nil
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
	c.left = 4 + int(n)
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
