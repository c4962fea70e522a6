package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
)

// A step is one statement under way, in a transaction of its own, for all calls
// of one verb.
type step struct {
	verb  verb
	calls []*call
	next  int   // where in calls the next row is looked for
	err   error // what the server said instead, or besides
}

// steps sorts calls into statements.
func steps(calls []*call) []*step {
	var by [verbs]*step
	for _, c := range calls {
		if by[c.verb] == nil {
			by[c.verb] = &step{verb: c.verb}
		}
		by[c.verb].calls = append(by[c.verb].calls, c)
	}
	var all []*step
	for _, s := range by {
		if s != nil {
			all = append(all, s)
		}
	}
	return all
}

// binaryFormat is that of all arguments and results.
var binaryFormat = []int16{pgtype.BinaryFormatCode}

// statements are the names of the prepared ones.
var statements = [verbs]string{settle: settleName, release: releaseName, beat: beatName, broken: brokenName, acquire: acquireName}

// send puts s into the buffer of f.
func (s *step) send(f *pgproto3.Frontend, namespace string) {
	if s.verb == listen {
		queries := make([]string, len(s.calls))
		for i, c := range s.calls {
			queries[i] = c.query
		}
		f.Send(&pgproto3.Query{String: strings.Join(queries, ";")})
		return
	}
	f.SendBind(&pgproto3.Bind{
		PreparedStatement:    statements[s.verb],
		ParameterFormatCodes: binaryFormat,
		Parameters:           s.arguments(namespace),
		ResultFormatCodes:    binaryFormat,
	})
	f.SendExecute(&pgproto3.Execute{})
	f.SendSync(&pgproto3.Sync{})
}

// arguments are those of the statement, in binary: see its file.
func (s *step) arguments(namespace string) [][]byte {
	if s.verb == beat {
		return [][]byte{binary.BigEndian.AppendUint64(nil, uint64(s.calls[0].id))}
	}
	ids := s.numbers(func(c *call) int64 { return c.id })
	if s.verb != acquire {
		return [][]byte{ids}
	}
	return [][]byte{
		ids,
		s.texts(func(c *call) string { return c.key }),
		s.texts(func(c *call) string { return c.holder }),
		s.numbers(func(c *call) int64 { return c.delay.Milliseconds() }),
		[]byte(namespace),
	}
}

func (s *step) numbers(of func(*call) int64) []byte {
	b := arrayHead(pgtype.Int8OID, len(s.calls))
	for _, c := range s.calls {
		b = binary.BigEndian.AppendUint32(b, 8)
		b = binary.BigEndian.AppendUint64(b, uint64(of(c)))
	}
	return b
}

func (s *step) texts(of func(*call) string) []byte {
	b := arrayHead(pgtype.TextOID, len(s.calls))
	for _, c := range s.calls {
		text := of(c)
		b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
		b = append(b, text...)
	}
	return b
}

// arrayHead begins an array of one dimension without nulls, in binary.
func arrayHead(oid uint32, n int) []byte {
	b := make([]byte, 0, 20+16*n)
	for _, v := range [...]uint32{1, 0, oid, uint32(n), 1} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

// take gives a row to the call that it is for. Rows come in the order of the
// calls; calls without one are passed over.
func (s *step) take(values [][]byte) error {
	row := make([]int64, 0, 3)
	for _, v := range values {
		if len(v) == 8 { // pg_notify returns nothing
			row = append(row, int64(binary.BigEndian.Uint64(v)))
		}
	}
	if len(row) == 0 {
		return errors.New("a row without numbers")
	}
	for ; s.next < len(s.calls); s.next++ {
		if c := s.calls[s.next]; s.verb == beat || c.id == row[0] {
			c.row = row
			s.next++
			return nil
		}
	}
	return fmt.Errorf("a row that nobody asked for")
}

// finish tells the calls the outcome.
func (s *step) finish(err error) {
	for _, c := range s.calls {
		c.finish(err)
	}
}
