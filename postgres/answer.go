package postgres

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// receive takes in what the server sends until there is no more.
func (l *lane) receive() error {
	for {
		m, err := l.front.Receive()
		if err != nil {
			return err
		}
		if err := l.handle(m); err != nil {
			return err
		}
	}
}

// current is the statement that the next answer is to.
func (l *lane) current() *step {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.flight) == 0 {
		return nil
	}
	return l.flight[0]
}

// handle takes in one message. An error ends the connection.
func (l *lane) handle(m pgproto3.BackendMessage) error {
	switch m := m.(type) {
	case *pgproto3.NotificationResponse:
		l.heard(m.Channel, m.PID, m.Payload)
	case *pgproto3.ErrorResponse:
		err := pgconn.ErrorResponseToPgError(m)
		s := l.current()
		if s == nil || err.SeverityUnlocalized == "FATAL" || err.SeverityUnlocalized == "PANIC" {
			return err
		}
		s.err = err
	case *pgproto3.NoticeResponse:
		if s := l.current(); s != nil && s.err == nil && isDoubtful(m) {
			s.err = fmt.Errorf("warning: %w", pgconn.ErrorResponseToPgError((*pgproto3.ErrorResponse)(m)))
		}
	case *pgproto3.DataRow:
		if s := l.current(); s != nil {
			return s.take(m.Values)
		}
	case *pgproto3.ReadyForQuery:
		return l.ready(m.TxStatus)
	}
	return nil
}

// isDoubtful reports whether a notice is a warning, such as that the commit was not
// waited for. What it says can be in any language. Those that come with any write,
// of numbers of transactions that run out, say nothing of this one.
func isDoubtful(m *pgproto3.NoticeResponse) bool {
	return m.SeverityUnlocalized == "WARNING" && m.File != "varsup.c" && m.File != "multixact.c"
}

// ready ends the current statement.
func (l *lane) ready(tx byte) error {
	s := l.current()
	if s == nil {
		return errors.New("an answer that nobody asked for")
	}
	l.mu.Lock()
	l.flight = l.flight[1:]
	last := len(l.flight) == 0
	l.mu.Unlock()
	if err := s.judge(tx, l.pid); err != nil {
		s.finish(err)
		return err
	}
	s.finish(nil)
	if last {
		if len(s.calls) > 1 {
			runtime.Gosched() // their callers come back at once: take them along
		}
		l.send()
	}
	return nil
}

// judge returns an error if the outcome leaves the state of the connection in
// doubt.
func (s *step) judge(tx byte, pid int64) error {
	switch {
	case s.err != nil:
		return s.err
	case tx != 'I':
		return errors.New("left in a transaction")
	case s.verb == beat && (s.calls[0].row == nil || s.calls[0].row[0] != pid):
		return errors.New("answered by another server process: a pooler is in between")
	}
	if s.verb == release {
		for _, c := range s.calls {
			if len(c.row) < 2 || c.row[1] != 1 {
				return errors.New("the lock was not there to be released: a pooler is in between, or somebody has used this connection")
			}
		}
	}
	return nil
}
