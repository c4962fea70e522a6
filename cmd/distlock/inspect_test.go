//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
)

// What an operator does about a lock that hangs: look, break, look.
func TestInspectAndBreak(t *testing.T) {
	t.Parallel()
	r := newRival(t)
	file, command := beat(t, "")
	holder := invoke(t, append([]string{
		"run", "-backend", "redis", "-addr", r.addr, "-ttl", "9s", "-holder", "a \"worker\"\x1b", r.key, "--",
	}, command...)...)
	holder.ends(t, exitUsage) // a control character
	holder = invoke(t, append([]string{
		"run", "-backend", "redis", "-addr", r.addr, "-ttl", "9s", "-holder", `a "worker"`, r.key, "--",
	}, command...)...)
	n := pid(t, file)
	ask := func(verb string, want int, args ...string) string {
		t.Helper()
		p := invoke(t, append([]string{verb, "-backend", "redis", "-addr", r.addr, "-timeout", "30s"}, args...)...)
		p.ends(t, want)
		return strings.TrimSpace(p.out.String())
	}

	var held bool
	var token, left, waiters, text string
	said := ask("inspect", 0, r.key)
	fields, holderText, _ := strings.Cut(said, " holder=")
	if _, err := fmt.Sscanf(fields, "held=%t token=%s left=%s waiters=%s", &held, &token, &left, &waiters); err != nil || !held {
		t.Fatalf("got %q, %v", said, err)
	}
	if d, err := time.ParseDuration(left); err != nil || d <= 0 || d > 9*time.Second || waiters != "0" || holderText != `"a \"worker\""` {
		t.Errorf("got %q, %v", said, err)
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(ask("inspect", 0, "-json", r.key)), &object); err != nil || object["token"] != token || object["holder"] != `a "worker"` {
		t.Errorf("got %v, %v", object, err)
	}

	grant, err := distlock.ParseToken(token)
	if err != nil {
		t.Fatal(err)
	}
	ask("break", exitNot, r.key, (grant + 1).String())
	if !isAlive(n) {
		t.Error("Break of another grant has ended the command")
	}
	ask("break", 0, "-lock-delay", "1h", r.key, token)
	holder.ends(t, exitLost)
	if isAlive(n) {
		t.Error("the command runs on")
	}
	if said := ask("inspect", exitNot, r.key); !strings.HasPrefix(said, "held=false token=0 left=59m") && !strings.HasPrefix(said, "held=false token=0 left=1h0m0s") {
		t.Errorf("in the lock-delay: got %q", said)
	}
	_, err = r.TryAcquire(t.Context(), r.key)
	if text = fmt.Sprint(err); !strings.Contains(text, "held") {
		t.Errorf("TryAcquire in the lock-delay: got %v", err)
	}

	rdb := goredis.NewClient(&goredis.Options{Addr: r.addr})
	defer rdb.Close()
	if err := rdb.Set(t.Context(), "distlock:{"+r.key+"}", "somebody's", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	ask("inspect", exitForeign, r.key)
	ask("break", exitForeign, r.key, token)
	rdb.Del(context.Background(), "distlock:{"+r.key+"}")
}

// Fields that a service does not know are said to be unknown.
func TestUnknownFields(t *testing.T) {
	t.Parallel()
	info := distlock.LockInfo{Held: true, Token: 1<<63 - 1, Holder: "\x1b[2J\n", Left: -1, Waiters: -1}
	if got, want := line(info), `held=true token=9223372036854775807 left=unknown waiters=unknown holder="\x1b[2J\n"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := asObject(info), `{"held":true,"token":"9223372036854775807","left_seconds":null,"waiters":null,"holder":"\u001b[2J\n"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
