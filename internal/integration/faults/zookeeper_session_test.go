package faults_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
)

// closeSession ends a session on a server as its own client would, over a connection of
// its own. The session's client is cut off by that, connects again, and cuts this off,
// so it may take several turns.
func closeSession(ctx context.Context, server string, session int64) error {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", server)
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
	hello = append(hello, sessionPassword(session)...)
	if err := exchange(c, hello); err != nil {
		return err
	}
	bye := binary.BigEndian.AppendUint32(nil, 1)          // number of the request
	bye = binary.BigEndian.AppendUint32(bye, 0xffff_fff5) // -11: close
	return exchange(c, bye)
}

// exchange sends one packet and reads one.
func exchange(c net.Conn, packet []byte) error {
	if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(packet))), packet...)); err != nil {
		return err
	}
	var n [4]byte
	if _, err := io.ReadFull(c, n[:]); err != nil {
		return err
	}
	_, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(n[:])))
	return err
}

// sessionPassword is what a server gives to a client along with a session's id: what
// Java's Random draws from the seed id ^ 0xB3415C00.
func sessionPassword(session int64) []byte {
	const multiplier, mask = 0x5DEECE66D, 1<<48 - 1
	state := (uint64(session^0xB3415C00) ^ multiplier) & mask
	var p []byte
	for len(p) < 16 {
		state = (state*multiplier + 0xB) & mask
		p = binary.LittleEndian.AppendUint32(p, uint32(state>>16))
	}
	return p
}
