//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/distlock-go/distlock"
)

const (
	// answerTime is how long inspect waits for the service.
	answerTime = 10 * time.Second
	// breakTime is how long break does: on Postgres it waits for the holder, 15 s at most.
	breakTime = 30 * time.Second
)

// inspectKey tells on one line who has a key, and returns the exit status.
func inspectKey(args []string) int {
	f, s := newFlags("inspect")
	timeout := f.Duration("timeout", answerTime, "how long to wait for an answer")
	asJSON := f.Bool("json", false, "tell it as JSON")
	rest, err := s.parse(f, args)
	if err == nil && len(rest) != 1 {
		err = errors.New("want KEY after the flags")
	}
	if err != nil {
		return misused("inspect", err)
	}
	var info distlock.LockInfo
	status := s.use(*timeout, nil, func(ctx context.Context, c *distlock.Client) (err error) {
		info, err = c.Inspect(ctx, rest[0])
		return err
	})
	if status != 0 {
		return status
	}
	tell := line
	if *asJSON {
		tell = asObject
	}
	fmt.Fprintln(os.Stdout, tell(info))
	if !info.Held {
		return exitNot
	}
	return 0
}

// line is info in fields. The holder's text comes last, and quoted: it is anybody's.
func line(i distlock.LockInfo) string {
	left, waiters := i.Left.Round(time.Millisecond).String(), fmt.Sprint(i.Waiters)
	if i.Left < 0 {
		left = "unknown"
	}
	if i.Waiters < 0 {
		waiters = "unknown"
	}
	return fmt.Sprintf("held=%t token=%v left=%s waiters=%s holder=%q", i.Held, i.Token, left, waiters, i.Holder)
}

// asObject is info as JSON. The token is a string, as others read numbers that long
// as fractions; what is unknown is null.
func asObject(i distlock.LockInfo) string {
	var o struct {
		Held    bool     `json:"held"`
		Token   string   `json:"token"`
		Left    *float64 `json:"left_seconds"`
		Waiters *int     `json:"waiters"`
		Holder  string   `json:"holder"`
	}
	o.Held, o.Token, o.Holder = i.Held, i.Token.String(), i.Holder
	if left := i.Left.Seconds(); i.Left >= 0 {
		o.Left = &left
	}
	if i.Waiters >= 0 {
		o.Waiters = &i.Waiters
	}
	text, _ := json.Marshal(o) // never fails: there are numbers and texts
	return string(text)
}

// breakKey frees a key by force, and returns the exit status.
func breakKey(args []string) int {
	f, s := newFlags("break")
	timeout := f.Duration("timeout", breakTime, "how long to wait for an answer")
	var opts []distlock.Option
	lockDelay(f, &opts, "for how long nobody gets the key")
	rest, err := s.parse(f, args)
	if err == nil && len(rest) != 2 {
		err = errors.New("want KEY TOKEN after the flags")
	}
	var token distlock.Token
	if err == nil {
		token, err = distlock.ParseToken(rest[1])
	}
	if err != nil {
		return misused("break", err)
	}
	return s.use(*timeout, opts, func(ctx context.Context, c *distlock.Client) error {
		return c.Break(ctx, rest[0], token)
	})
}

// use has f speak to the service through a client, and returns the exit status. The
// client takes no lock: its TTL does nothing but, on ZooKeeper, leave less for a
// lock-delay, so that it is the least.
func (s *service) use(timeout time.Duration, opts []distlock.Option, f func(context.Context, *distlock.Client) error) int {
	client, closeAll, status := s.connect(append(opts, distlock.WithTTL(leastTTL(s.backend))))
	if client == nil {
		return status
	}
	defer closeAll()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	err := f(ctx, client)
	if err == nil {
		return 0
	}
	complain("%v", err)
	switch {
	case errors.Is(err, distlock.ErrStale):
		return exitNot
	case errors.Is(err, distlock.ErrForeign):
		return exitForeign
	case errors.Is(err, distlock.ErrInvalid), errors.Is(err, errors.ErrUnsupported):
		return exitUsage
	}
	return exitService
}

// connect makes a client, which closeAll closes. Without one it returns the exit
// status.
func (s *service) connect(opts []distlock.Option) (client *distlock.Client, closeAll func(), status int) {
	backend, disconnect, err := open(s.backend, s.addr)
	if err != nil {
		complain("%v", err)
		if errors.Is(err, errService) {
			return nil, nil, exitService
		}
		return nil, nil, exitUsage
	}
	client, err = distlock.New(backend, opts...)
	if err != nil {
		_ = disconnect()
		complain("%v", err)
		return nil, nil, exitUsage
	}
	return client, func() {
		_ = client.Close(context.Background()) // what it could not give up runs out
		_ = disconnect()
	}, 0
}
