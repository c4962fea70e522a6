package objectfence

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/distlock-go/distlock"
)

const (
	prefix = "distlock-mark 1 "
	// history is how many writes a mark remembers.
	history = 16
	// maxLine is more than the longest mark.
	maxLine = 512
	idLen   = 16
)

// A mark is the first line of an object.
type mark struct {
	token  distlock.Token // 0 after a Reset
	ids    []string       // of the last writes, the newest first
	source string
}

// newID draws the id of a write.
func newID() string {
	var b [idLen / 2]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// after returns the mark of a write that follows m.
func (m mark) after(source string, t distlock.Token, id string) mark {
	ids := append([]string{id}, m.ids...)
	return mark{t, ids[:min(len(ids), history)], source}
}

// excludes reports whether a write with this id, which would have followed m, is
// known not to have been carried out, now being the mark that is there. It is not
// known if so many have followed that m is forgotten.
func (m mark) excludes(id string, now mark) bool {
	if slices.Contains(now.ids, id) {
		return false
	}
	if len(m.ids) == 0 { // it would have been the first of all
		return len(now.ids) < history
	}
	return slices.Contains(now.ids, m.ids[0])
}

// body returns the object that consists of m and content.
func (m mark) body(content []byte) []byte {
	line := prefix + m.token.String() + " " + strings.Join(m.ids, ",") + " " + m.source + "\n"
	return append([]byte(line), content...)
}

// split reads what body wrote, and nothing else.
func split(body []byte) (m mark, content []byte, err error) {
	line, content, found := bytes.Cut(body[:min(len(body), maxLine)], []byte("\n"))
	if found {
		content = body[len(line)+1:]
	}
	rest, ours := strings.CutPrefix(string(line), prefix)
	fields := strings.SplitN(rest, " ", 3)
	if !found || !ours || len(fields) < 3 {
		return m, nil, noMark()
	}
	if fields[0] != "0" {
		if m.token, err = distlock.ParseToken(fields[0]); err != nil {
			return mark{}, nil, noMark()
		}
	}
	m.ids, m.source = strings.Split(fields[1], ","), fields[2]
	if len(m.ids) > history || slices.ContainsFunc(m.ids, badID) || distlock.CheckSource(m.source) != nil {
		return mark{}, nil, noMark()
	}
	return m, content, nil
}

func badID(id string) bool {
	_, err := hex.DecodeString(id)
	return err != nil || len(id) != idLen || strings.ToLower(id) != id
}

func noMark() error {
	return fmt.Errorf("%w: the object does not begin with a mark: see Reset", distlock.ErrInvalid)
}

// Content returns what is in an object besides its mark, for readers that have
// their own way to get it. An object without a mark is distlock.ErrInvalid.
func Content(body []byte) ([]byte, error) {
	_, content, err := split(body)
	return content, err
}
