package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// A rig is a lane whose server is the test.
type rig struct {
	t      *testing.T
	lane   *lane
	server *pgproto3.Backend
	conn   net.Conn
	ended  chan error
}

const rigPID = 7

func newRig(t *testing.T) *rig {
	client, server := net.Pipe()
	r := &rig{t: t, conn: server, server: pgproto3.NewBackend(server, server), ended: make(chan error, 1)}
	r.lane = newLane(&pgconn.HijackedConn{Conn: client, Frontend: pgproto3.NewFrontend(client, client)}, "ns", time.Hour, func(string, uint32, string) {})
	r.lane.pid = rigPID
	go r.lane.read(func(cause error) { r.ended <- cause }) // ends with the pipe
	t.Cleanup(func() { server.Close(); <-r.lane.over })
	return r
}

// receive takes messages of the client until one asks for an answer.
func (r *rig) receive() {
	for {
		m, err := r.server.Receive()
		if err != nil {
			r.t.Error(err)
			return
		}
		switch m.(type) {
		case *pgproto3.Sync, *pgproto3.Query, *pgproto3.Terminate:
			return
		}
	}
}

// answer sends messages.
func (r *rig) answer(ms ...pgproto3.BackendMessage) {
	for _, m := range ms {
		r.server.Send(m)
	}
	if err := r.server.Flush(); err != nil {
		r.t.Error(err)
	}
}

func row(values ...int64) *pgproto3.DataRow {
	m := &pgproto3.DataRow{}
	for _, v := range values {
		m.Values = append(m.Values, binary.BigEndian.AppendUint64(nil, uint64(v)))
	}
	return m
}

var (
	idle = &pgproto3.ReadyForQuery{TxStatus: 'I'}
	inTx = &pgproto3.ReadyForQuery{TxStatus: 'T'}
)

func warning(file string) *pgproto3.NoticeResponse {
	return &pgproto3.NoticeResponse{Severity: "WARNUNG", SeverityUnlocalized: "WARNING", Message: "hm", File: file}
}

// What the server says decides whether the connection can be trusted any longer.
func TestAnswersThatLeaveDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		verb   verb
		answer []pgproto3.BackendMessage
		says   string // of the end of the connection; empty: it goes on
	}{
		"a grant":                  {acquire, []pgproto3.BackendMessage{row(1, 10, 0), idle}, ""},
		"a refusal":                {acquire, []pgproto3.BackendMessage{idle}, ""},
		"a grant of another lock":  {acquire, []pgproto3.BackendMessage{row(2, 10, 0), idle}, "nobody asked for"},
		"a row too many":           {acquire, []pgproto3.BackendMessage{row(1, 10, 0), row(1, 11, 0), idle}, "nobody asked for"},
		"a row without numbers":    {acquire, []pgproto3.BackendMessage{&pgproto3.DataRow{}, idle}, "without numbers"},
		"a warning of the standby": {acquire, []pgproto3.BackendMessage{row(1, 10, 0), warning("syncrep.c"), idle}, "hm"},
		"a warning of wraparound":  {acquire, []pgproto3.BackendMessage{row(1, 10, 0), warning("varsup.c"), idle}, ""},
		"an open transaction":      {acquire, []pgproto3.BackendMessage{row(1, 10, 0), inTx}, "transaction"},
		"an error":                 {acquire, []pgproto3.BackendMessage{&pgproto3.ErrorResponse{SeverityUnlocalized: "ERROR", Message: "no"}, idle}, "no"},
		"the end":                  {acquire, []pgproto3.BackendMessage{&pgproto3.ErrorResponse{SeverityUnlocalized: "FATAL", Message: "bye"}}, "bye"},
		"a release":                {release, []pgproto3.BackendMessage{row(1, 1), idle}, ""},
		"a release of nothing":     {release, []pgproto3.BackendMessage{row(1, 0), idle}, "not there"},
		"no row for a release":     {release, []pgproto3.BackendMessage{idle}, "not there"},
		"a beat":                   {beat, []pgproto3.BackendMessage{row(rigPID), idle}, ""},
		"a beat of another":        {beat, []pgproto3.BackendMessage{row(8), idle}, "another server process"},
		"a beat without a row":     {beat, []pgproto3.BackendMessage{idle}, "another server process"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			first, next := newCall(c.verb, 1), newCall(beat, 0)
			go r.lane.start(first)
			r.receive()
			go r.lane.start(next) // waits behind it
			r.answer(c.answer...)
			<-first.done
			if c.says == "" {
				r.receive()
				r.answer(row(rigPID), idle)
				<-next.done
				if first.err != nil || next.err != nil {
					t.Errorf("got %v, %v, want nil", first.err, next.err)
				}
				return
			}
			cause := <-r.ended
			<-next.done
			if !strings.Contains(cause.Error(), c.says) {
				t.Errorf("ended by %v, want %q", cause, c.says)
			}
			if !errors.Is(next.err, distlock.ErrLost) {
				t.Errorf("a call that was not sent: got %v, want ErrLost", next.err)
			}
		})
	}
}

func TestAnswerToNothing(t *testing.T) {
	r := newRig(t)
	r.answer(idle)
	if cause := <-r.ended; !strings.Contains(cause.Error(), "nobody asked for") {
		t.Errorf("ended by %v", cause)
	}
}

// A release under way when the connection ends may have been carried out.
func TestOutcomesAtTheEnd(t *testing.T) {
	r := newRig(t)
	calls := []*call{newCall(release, 1), newCall(acquire, 2), newCall(beat, 0)}
	go r.lane.start(calls...)
	r.receive()
	go r.conn.Close()
	for i, lost := range []bool{false, true, true} {
		<-calls[i].done
		if err := calls[i].err; err == nil || errors.Is(err, distlock.ErrLost) != lost {
			t.Errorf("call %d: got %v, want a loss: %v", i, err, lost)
		}
	}
	late := newCall(acquire, 3)
	r.lane.start(late)
	<-late.done
	if !errors.Is(late.err, distlock.ErrLost) {
		t.Errorf("a call after the end: got %v, want ErrLost", late.err)
	}
}

// What nobody waits for any more is not sent.
func TestCallsThatWereLeftAreNotSent(t *testing.T) {
	r := newRig(t)
	first, left := newCall(beat, 0), newCall(acquire, 1)
	go r.lane.start(first)
	r.receive()
	left.left.Store(true)
	r.lane.start(left)
	r.answer(row(rigPID), idle)
	<-left.done
	if left.err != errUnsent {
		t.Errorf("got %v, want %v", left.err, errUnsent)
	}
}

// A server that hangs does not keep us from closing.
func TestGoodbyeToAServerThatHangs(t *testing.T) {
	for name, listens := range map[string]bool{"reads": true, "does not read": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			stuck := newCall(acquire, 1)
			go r.lane.start(stuck)
			if listens {
				go r.receive()
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := r.lane.goodbye(ctx); err == nil {
				t.Error("got nil, want that the server did not end it")
			}
			<-stuck.done
		})
	}
}

// The bound of the last write has passed when the client closes: the server is told all
// the same.
func TestGoodbyeLongAfterTheLastWrite(t *testing.T) {
	r := newRig(t)
	if err := r.lane.conn.SetWriteDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() { got <- r.lane.goodbye(t.Context()) }()
	r.receive()
	_ = r.conn.Close()
	if err := <-got; err != nil {
		t.Errorf("got %v, want nil: the server has ended the connection", err)
	}
}

// A write that the peer does not take ends the connection, and keeps no caller.
func TestStuckWriteEndsTheConnection(t *testing.T) {
	r := newRig(t)
	r.lane.bound = 50 * time.Millisecond
	stuck := newCall(acquire, 1)
	go r.lane.start(stuck)
	select {
	case cause := <-r.ended:
		if !errors.Is(cause, os.ErrDeadlineExceeded) {
			t.Errorf("ended by %v, want that the write took too long", cause)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the connection goes on")
	}
	<-stuck.done
	if !errors.Is(stuck.err, distlock.ErrLost) {
		t.Errorf("got %v, want ErrLost", stuck.err)
	}
}

func TestCallerLeavesAStuckWrite(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	got := make(chan error, 1)
	go func() { got <- r.lane.do(ctx, newCall(acquire, 1)) }()
	select {
	case err := <-got:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that the caller's time was over", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the caller waits for the write")
	}
}

// With the connection the locks are free, so whoever holds one is told before it is
// closed.
func TestHoldersAreToldBeforeTheConnectionIsClosed(t *testing.T) {
	client, server := net.Pipe()
	defer server.Close()
	l := newLane(&pgconn.HijackedConn{Conn: client, Frontend: pgproto3.NewFrontend(client, client)}, "ns", time.Hour, nil)
	open := make(chan error, 1)
	go l.read(func(error) {
		_ = server.SetReadDeadline(time.Now().Add(50 * time.Millisecond)) // a closed pipe does not wait for it
		_, err := server.Read(make([]byte, 1))
		open <- err
	})
	l.close(errors.New("in doubt"))
	if err := <-open; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("as holders were told, the server read %v; want nothing, on an open connection", err)
	}
	<-l.over
	_ = server.SetReadDeadline(time.Time{})
	if _, err := server.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("then the server read %v, want the end", err)
	}
}
