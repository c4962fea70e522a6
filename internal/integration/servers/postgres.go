package servers

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// Postgres has a database and a superuser "postgres", with password "distlock". It
// comes back with its data when started again.
var Postgres = Spec{
	Name:  "postgres:17",
	Image: Image{Local: "postgres:17", Official: "postgres:17"},
	Env:   map[string]string{"POSTGRES_PASSWORD": "distlock"},
	Command: func(ports []int) []string {
		return []string{"postgres", "-p", strconv.Itoa(ports[0]), "-c", "listen_addresses=" + host}
	},
	Ready: postgresReady,
}

// postgresEntries are set to a connection URL.
var postgresEntries = []Entry{{
	Name: "postgres", Env: "DISTLOCK_TEST_POSTGRES", Launch: launch[*Server](Postgres),
	Value: func(addrs []string) string {
		return fmt.Sprintf("postgres://postgres:distlock@%s/postgres?sslmode=disable", addrs[0])
	},
}}

// postgresReady begins a connection. A server that starts or stops answers with an
// error, one that serves asks for the password.
func postgresReady(ctx context.Context, addr string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	const hello = "user\x00postgres\x00\x00"
	start := binary.BigEndian.AppendUint32(nil, uint32(8+len(hello)))
	start = binary.BigEndian.AppendUint32(start, 3<<16) // version 3.0
	if _, err := conn.Write(append(start, hello...)); err != nil {
		return err
	}
	var kind [1]byte
	if _, err := io.ReadFull(conn, kind[:]); err != nil {
		return err
	}
	if kind[0] != 'R' {
		return errors.New("the server starts or stops")
	}
	return nil
}
