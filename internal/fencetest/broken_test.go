package fencetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/distlock-go/distlock"
)

// A store is a resource with its marks, in memory, and a fence with at most one fault.
type store struct {
	fault   string
	mu      sync.Mutex // guards all below
	marks   map[string]string
	content map[string]string
}

func newStore(fault string) *store {
	return &store{fault: fault, marks: make(map[string]string), content: make(map[string]string)}
}

func (s *store) has(fault string) bool { return s.fault == fault }

// mark is the name of key's mark.
func (s *store) mark(key string) string {
	switch {
	case s.has("case folded"):
		return strings.ToLower(key)
	case s.has("keys cut"):
		return strings.TrimRight(key, "%=25")
	}
	return key
}

func unprintable(r rune) bool { return r < ' ' || r > '~' }

// judge compares t with the mark of key.
func (s *store) judge(source, key string, t distlock.Token) error {
	text, there := s.marks[s.mark(key)]
	if !there {
		return nil
	}
	i := strings.LastIndexByte(text, ' ')
	max, err := distlock.ParseToken(text[i+1:])
	if text[i+1:] == "0" {
		err = nil
	}
	damaged := i <= 0 || err != nil || len(text[:i]) > 128 || strings.ContainsFunc(text[:i], unprintable)
	switch {
	case damaged && s.has("damage is no mark"):
		return nil
	case damaged && s.has("damage is stale"):
		return fmt.Errorf("%w: %q", distlock.ErrStale, text)
	case damaged:
		return distlock.Invalid("mark", text, "a mark")
	case text[:i] != source && s.has("sources compared"):
	case text[:i] != source && s.has("source is just invalid"):
		return distlock.Invalid("source", source, text[:i])
	case text[:i] != source:
		return fmt.Errorf("%w: %s", distlock.ErrSource, text[:i])
	}
	stale := t < max
	switch {
	case s.has("equal is stale"):
		stale = t <= max
	case s.has("floats"):
		stale = float64(t) < float64(max)
	case s.has("text"):
		stale = t.String() < max.String()
	case s.has("lets one behind in"):
		stale = t+1 < max
	}
	if stale && !s.has("never stale") {
		return fmt.Errorf("%w: %v is smaller than %v", distlock.ErrStale, t, max)
	}
	return nil
}

// do is Advance, and Write where write is not nil.
func (s *store) do(ctx context.Context, source, key string, t distlock.Token, write func() error) error {
	if ctx.Err() != nil && !s.has("deaf") {
		return fmt.Errorf("distlock: fence %q: %w", key, ctx.Err())
	}
	if t == 0 && !s.has("takes 0") || t > math.MaxInt64 && !s.has("takes all") {
		return fmt.Errorf("distlock: fence %q: %w", key, distlock.Invalid("token", t, "positive"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.judge(source, key, t)
	if s.has("check, then write") {
		s.mu.Unlock()
		runtime.Gosched()
		s.mu.Lock()
	}
	if err != nil {
		if s.has("refused and written") && write != nil {
			_ = write()
		}
		if s.has("silent") {
			return err
		}
		return fmt.Errorf("distlock: fence %q: %w", key, err)
	}
	before, was := s.marks[s.mark(key)]
	if write == nil && s.has("advance only looks") {
		return nil
	}
	if write == nil && s.has("advance empties") {
		s.content[key] = ""
	}
	s.marks[s.mark(key)] = source + " " + t.String()
	if write == nil {
		return nil
	}
	if s.has("one writer at a time") && strings.HasPrefix(s.content[key], "write ") {
		return errors.New("somebody else is writing")
	}
	if err := write(); err != nil {
		if s.has("rolls back") && was {
			s.marks[s.mark(key)] = before
		}
		return err
	}
	return nil
}

func (s *store) harness() Harness {
	return Harness{
		Open: func(source string) Fence {
			return Fence{
				Advance: func(ctx context.Context, key string, t distlock.Token) error {
					return s.do(ctx, source, key, t, nil)
				},
				Write: func(ctx context.Context, key string, t distlock.Token, content string) error {
					return s.do(ctx, source, key, t, func() error { s.content[key] = content; return nil })
				},
				Read: func(_ context.Context, key string) (string, error) {
					s.mu.Lock()
					defer s.mu.Unlock()
					return s.content[key], nil
				},
				Reset: func(_ context.Context, key string) error { return s.reset(source, key) },
				LateReset: func(_ context.Context, key string, between func()) error {
					return s.lateReset(source, key, between)
				},
				Fail: func(ctx context.Context, key string, t distlock.Token) error {
					return s.do(ctx, source, key, t, func() error {
						if s.has("half a write") {
							s.content[key] = "half"
						}
						return errors.New("disk full")
					})
				},
			}
		},
		Spoil: func(_ context.Context, key, text string) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.marks[key] = text
			return nil
		},
	}
}

func (s *store) reset(source, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.has("reset only moves up"):
		if err := s.judge(source, key, 1); err != nil {
			return err
		}
	case s.has("reset deletes"):
		delete(s.marks, key)
		return nil
	case s.has("reset empties"):
		s.content[key] = ""
	}
	s.marks[key] = source + " 0"
	return nil
}

// lateReset replaces the mark that it has read and no other, unless it has a fault.
func (s *store) lateReset(source, key string, between func()) error {
	read := func() (string, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		text, there := s.marks[key]
		return text, there
	}
	seen, there := read()
	between()
	now, still := read()
	moved := now != seen || there != still
	was, wasOurs := tokenOf(seen, source)
	is, ours := tokenOf(now, source)
	another := ours && (!wasOurs || is < was || s.has("reset spares what was raised"))
	if moved && !s.has("reset is blind") && (another || s.has("reset gives up")) {
		return nil
	}
	return s.reset(source, key)
}

// tokenOf returns the token of a mark, if it is of source.
func tokenOf(mark, source string) (t uint64, ok bool) {
	digits, ok := strings.CutPrefix(mark, source+" ")
	if !ok {
		return 0, false
	}
	t, err := strconv.ParseUint(digits, 10, 64)
	return t, err == nil
}

// faults are what a fence can get wrong, with the rules that must find it. Others may.
var faults = map[string][]string{
	"never stale":            {"order", "bounds", "take-over", "equal-after-lost-race", "races", "first", "sources", "message"},
	"equal is stale":         {"order", "bounds", "equal-after-lost-race", "together", "ended-context"},
	"lets one behind in":     {"order", "take-over", "equal-after-lost-race", "races", "first", "failed-write"},
	"floats":                 {"bounds"},
	"text":                   {"order"},
	"takes 0":                {"bounds"},
	"takes all":              {"bounds"},
	"advance only looks":     {"take-over", "equal-after-lost-race", "races", "first"},
	"advance empties":        {"order", "take-over"},
	"refused and written":    {"order", "take-over", "sources", "damage"},
	"check, then write":      {"races"},
	"case folded":            {"keys"},
	"keys cut":               {"keys"},
	"one writer at a time":   {"together"},
	"rolls back":             {"failed-write"},
	"half a write":           {"failed-write"},
	"deaf":                   {"ended-context"},
	"sources compared":       {"sources", "reset"},
	"source is just invalid": {"sources", "reset"},
	"reset only moves up":    {"reset", "damage"},
	"reset deletes":          {"reset"},
	"reset empties":          {"reset"},
	"reset is blind":         {"late-reset"},
	"reset gives up":         {"late-reset"},

	"reset spares what was raised": {"late-reset"},
	"damage is no mark":            {"damage"},
	"damage is stale":              {"damage"},
	"silent":                       {"message"},
}

// TestBroken proves that the rules find what they are there for.
func TestBroken(t *testing.T) {
	t.Parallel()
	for fault, breaks := range faults {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			for _, c := range cases {
				if !slices.Contains(breaks, c.name) {
					continue
				}
				if c.check(t.Context(), bench{newStore(fault).harness(), c.name}) == nil {
					t.Errorf("%s does not find it", c.name)
				}
			}
		})
	}
	for _, c := range cases {
		found := false
		for _, breaks := range faults {
			found = found || slices.Contains(breaks, c.name)
		}
		if !found {
			t.Errorf("no fault is there for %s", c.name)
		}
	}
}

// The fence without a fault keeps every rule.
func TestWhole(t *testing.T) { Run(t, newStore("").harness()) }
