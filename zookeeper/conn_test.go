package zookeeper_test

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	zklock "github.com/distlock-go/distlock/zookeeper"
)

// welcome is a server's greeting.
func welcome(id int64, timeout time.Duration) []byte {
	p := binary.BigEndian.AppendUint32(nil, 37)
	p = binary.BigEndian.AppendUint32(p, 0)
	p = binary.BigEndian.AppendUint32(p, uint32(timeout.Milliseconds()))
	p = binary.BigEndian.AppendUint64(p, uint64(id))
	p = binary.BigEndian.AppendUint32(p, 16)
	p = append(p, make([]byte, 16)...)
	return append(p, 0)
}

// server answers each connection with the next of greetings, and then echoes.
func server(t *testing.T, greetings ...[]byte) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { // ends with the listener
		for _, g := range greetings {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { // ends with the connection
				defer c.Close()
				c.Write(g)
				io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

func newLink(t *testing.T) *zklock.Link {
	l := zklock.NewLink(zklock.New([]string{"unused"}, nil), 200*time.Millisecond)
	t.Cleanup(l.Shut)
	return l
}

// greeting dials and reads the greeting.
func greeting(t *testing.T, l *zklock.Link, addr string) (net.Conn, []byte, error) {
	t.Helper()
	c, err := l.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	p := make([]byte, 41)
	n, err := io.ReadFull(c, p)
	return c, p[:n], err
}

func TestGreeting(t *testing.T) {
	l := newLink(t)
	addr := server(t, welcome(7, 5*time.Second), welcome(7, 5*time.Second), welcome(0, 0))
	for range 2 {
		if _, p, err := greeting(t, l, addr); err != nil || string(p) != string(welcome(7, 5*time.Second)) {
			t.Errorf("got %x, %v; want what the server said", p, err)
		}
	}
	if id, timeout := l.Opened(); id != 7 || timeout != 5*time.Second {
		t.Errorf("the session is %d with %v", id, timeout)
	}
	if _, _, err := greeting(t, l, addr); err == nil || l.Expired != 1 {
		t.Errorf("a server that does not know the session: got %v, told %d times", err, l.Expired)
	}
	for name, g := range map[string][]byte{
		"another session": welcome(8, 5*time.Second), "a shorter time-out": welcome(7, time.Second),
	} {
		before := l.Expired
		if _, _, err := greeting(t, l, server(t, g)); err == nil || l.Expired != before+1 {
			t.Errorf("%s: got %v, told %d times", name, err, l.Expired-before)
		}
	}
}

func TestGreetingThatIsNone(t *testing.T) {
	for name, g := range map[string][]byte{
		"another protocol": []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
		"too short":        {0, 0, 0, 4, 1, 2, 3, 4},
		"no session":       welcome(0, 0),
		"nothing":          nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLink(t)
			start := time.Now()
			if _, _, err := greeting(t, l, server(t, g)); err == nil || l.Expired != 0 {
				t.Errorf("got %v, told of an end %d times", err, l.Expired)
			}
			if took := time.Since(start); took > bound {
				t.Errorf("it took %v", took)
			}
			if id, _ := l.Opened(); id != 0 {
				t.Errorf("there is a session %d", id)
			}
		})
	}
}

// packet is a request of the library's: its number, its kind, and what it asks.
func packet(kind uint32, body string) []byte {
	p := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	p = binary.BigEndian.AppendUint32(p, 1)
	return append(binary.BigEndian.AppendUint32(p, kind), body...)
}

func TestReadsAskForAWatch(t *testing.T) {
	l := newLink(t)
	c, _, err := greeting(t, l, server(t, welcome(7, 5*time.Second)))
	if err != nil {
		t.Fatal(err)
	}
	get, exists := packet(4, "\x00\x00\x00\x02/a\x00"), packet(3, "\x00\x00\x00\x02/a\x00")
	watched := strings.TrimSuffix(string(get), "\x00") + "\x01"
	for i, test := range []struct{ sent, want string }{
		{string(get), string(get)}, // the first asks for a session, whatever it looks like
		{string(get), watched}, {string(exists), string(exists)}, {string(get), watched}, {"\x00\x00\x00\x01x", "\x00\x00\x00\x01x"},
	} {
		p := []byte(test.sent)
		if n, err := c.Write(p); n != len(p) || err != nil || string(p) != test.sent {
			t.Fatalf("Write: %d, %v; the packet is now %x", n, err, p)
		}
		got := make([]byte, len(p))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != test.want {
			t.Errorf("packet %d: the server got %x, %v; want %x", i, got, err, test.want)
		}
	}
}

// The library reads the path from the answer to a creation; the link takes the czxid from
// behind it.
func TestCreationAsksForTheStat(t *testing.T) {
	l := newLink(t)
	c, _, err := greeting(t, l, server(t, welcome(7, 5*time.Second)))
	if err != nil {
		t.Fatal(err)
	}
	send := func(p []byte) string {
		t.Helper()
		if _, err := c.Write(p); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(p))
		if _, err := io.ReadFull(c, got); err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	send(packet(1, "the first one"))
	// The server echoes: what is behind number and kind of the request is in the answer
	// the rest of the header, path and Stat.
	body := "\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x02/a" + "\x00\x00\x00\x05\x00\x00\x00\x09"
	for flags, want := range map[string]string{
		"\x00\x00\x00\x03": string(packet(15, body+"\x00\x00\x00\x03")), // an ephemeral sequential node
		"\x00\x00\x00\x00": string(packet(1, body+"\x00\x00\x00\x00")),  // a persistent one
	} {
		if got := send(packet(1, body+flags)); got != want {
			t.Errorf("flags %x: the server got %x, want %x", flags, got, want)
		}
	}
	if got := l.Czxid("/a"); got != 5<<32|9 {
		t.Errorf("the czxid is %#x", got)
	}
	if got := l.Czxid("/a"); got != 0 {
		t.Error("the czxid is kept")
	}
}

func TestServersInTurn(t *testing.T) {
	l := newLink(t)
	if err := l.Init([]string{"a", "b", "c"}); err != nil {
		t.Fatal(err)
	}
	next := func(want string, pause bool) {
		t.Helper()
		if s, p := l.Next(); s != want || p != pause {
			t.Errorf("got %s, pause %v; want %s, %v", s, p, want, pause)
		}
	}
	next("b", false)
	next("c", false)
	next("a", false)
	if l.Vain() {
		t.Error("a round is over before its last server has failed")
	}
	next("b", true)
	if !l.Vain() {
		t.Error("a round in vain is not told")
	}
	l.Connected()
	next("c", false) // the next one at once, when a good connection has ended
	next("a", false)
	next("b", false)
	next("c", true)
}

func TestShutLinkMakesNoConnection(t *testing.T) {
	l := newLink(t)
	l.Shut()
	if c, err := l.Dial(server(t, welcome(7, time.Second))); err == nil {
		c.Close()
		t.Error("a link that is shut makes a connection")
	}
}
