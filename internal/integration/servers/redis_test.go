package servers_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// bound is how long a test waits for what must happen.
const bound = 30 * time.Second

// redis sends an inline command and returns the reply: the line, or a bulk's text.
func redis(t *testing.T, addr, command string) string {
	t.Helper()
	reply, err := try(addr, command)
	if err != nil {
		t.Fatalf("%s at %s: %v", command, addr, err)
	}
	return reply
}

func try(addr, command string) (string, error) {
	c, err := net.DialTimeout("tcp", addr, bound)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(bound))
	fmt.Fprintf(c, "%s\r\n", command)
	r := bufio.NewReader(c)
	line, err := r.ReadString('\n')
	if err != nil || line[0] != '$' {
		return strings.TrimSpace(line), err
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	if err != nil || n < 0 {
		return "", err
	}
	text := make([]byte, n)
	_, err = io.ReadFull(r, text)
	return string(text), err
}

// eventually polls a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(bound)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("not after %v: %s", bound, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
