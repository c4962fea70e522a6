package zookeeper_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
)

// kill ends a session on the servers as its own client would, over a connection
// of its own. The client is cut off by that and connects again, which cuts us
// off, so it may take several turns.
func kill(ctx context.Context, server string, session int64) error {
	for ctx.Err() == nil {
		if err := closeSession(ctx, server, session); err == nil {
			return nil
		}
	}
	return ctx.Err()
}

func closeSession(ctx context.Context, server string, session int64) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", server)
	if err != nil {
		return err
	}
	defer c.Close()
	if end, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(end)
	}
	hello := binary.BigEndian.AppendUint32(nil, 0)       // protocol version
	hello = binary.BigEndian.AppendUint64(hello, 0)      // last zxid seen
	hello = binary.BigEndian.AppendUint32(hello, 40_000) // time-out in ms
	hello = binary.BigEndian.AppendUint64(hello, uint64(session))
	hello = binary.BigEndian.AppendUint32(hello, 16)
	hello = append(hello, password(session)...)
	reply, err := exchange(c, hello)
	if err != nil {
		return err
	}
	if len(reply) < 16 {
		return io.ErrUnexpectedEOF
	}
	if binary.BigEndian.Uint64(reply[8:]) == 0 {
		return nil // the server does not know it any more
	}
	bye := binary.BigEndian.AppendUint32(nil, 1)          // number of the request
	bye = binary.BigEndian.AppendUint32(bye, 0xffff_fff5) // -11: close
	_, err = exchange(c, bye)
	return err
}

// exchange sends one packet and reads one.
func exchange(c net.Conn, packet []byte) ([]byte, error) {
	if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(packet))), packet...)); err != nil {
		return nil, err
	}
	var n [4]byte
	if _, err := io.ReadFull(c, n[:]); err != nil {
		return nil, err
	}
	reply := make([]byte, binary.BigEndian.Uint32(n[:]))
	_, err := io.ReadFull(c, reply)
	return reply, err
}

// password is what a server gives to a client along with a session's id: what
// Java's Random draws from the seed id ^ 0xB3415C00.
func password(session int64) []byte {
	const multiplier, mask = 0x5DEECE66D, 1<<48 - 1
	state := (uint64(session^0xB3415C00) ^ multiplier) & mask
	var p []byte
	for len(p) < 16 {
		state = (state*multiplier + 0xB) & mask
		p = binary.LittleEndian.AppendUint32(p, uint32(state>>16)) // nextBytes gives the low byte first
	}
	return p
}
