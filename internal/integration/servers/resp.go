package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// command sends one command to a Redis server over a connection of its own and
// returns the reply: a string, an int64, nil or a []any of those. An error reply is
// an error. This package needs a few commands only, to set servers up, and should
// not choose a client for the tests.
func command(ctx context.Context, addr string, args ...string) (any, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(conn, b.String()); err != nil {
		return nil, err
	}
	return readReply(bufio.NewReader(conn))
}

func readReply(r *bufio.Reader) (any, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil, errors.New("empty reply")
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return nil, errors.New(rest)
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil {
		return nil, err
	}
	switch {
	case kind == ':':
		return n, nil
	case kind == '$' && n >= 0:
		data := make([]byte, n+2)
		_, err := io.ReadFull(r, data)
		return string(data[:n]), err
	case kind == '*' && n >= 0:
		return readArray(r, n)
	}
	return nil, nil
}

func readArray(r *bufio.Reader, n int64) (any, error) {
	items := make([]any, n)
	for i := range items {
		item, err := readReply(r)
		if err != nil {
			return nil, err
		}
		items[i] = item
	}
	return items, nil
}

// text is command for replies that are strings.
func text(ctx context.Context, addr string, args ...string) (string, error) {
	v, err := command(ctx, addr, args...)
	if err != nil {
		return "", fmt.Errorf("%s: %w", args[0], err)
	}
	s, _ := v.(string)
	return s, nil
}

// expect returns nil if the reply to a command contains each of the lines.
func expect(ctx context.Context, addr string, args []string, lines ...string) error {
	s, err := text(ctx, addr, args...)
	if err != nil {
		return err
	}
	for _, want := range lines {
		if !strings.Contains(s+"\r\n", want+"\r\n") {
			return fmt.Errorf("%v at %s lacks %s", args, addr, want)
		}
	}
	return nil
}
