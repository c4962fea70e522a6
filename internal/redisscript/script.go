// Package redisscript holds the Lua scripts of the backends that speak to
// Redis. Each file says what it takes and what it answers.
package redisscript

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
)

//go:embed acquire.lua
var acquire string

//go:embed renew.lua
var renew string

//go:embed release.lua
var release string

// The scripts.
var (
	Acquire = New(acquire)
	Renew   = New(renew)
	Release = New(release)
)

// A Script is a Lua script and the name under which a server that has seen it
// knows it.
type Script struct {
	source, sha string
}

// New returns the script with this source.
func New(source string) *Script {
	sum := sha1.Sum([]byte(source)) // not for security: it is EVALSHA's name
	return &Script{source: source, sha: hex.EncodeToString(sum[:])}
}

// EvalSHA returns the words of the command that runs the script by name.
func (s *Script) EvalSHA(keys []string, args ...any) []any {
	return words("evalsha", s.sha, keys, args)
}

// Eval returns the words of the command that sends the script along. A server
// that answered NOSCRIPT, having been restarted, gets this one.
func (s *Script) Eval(keys []string, args ...any) []any {
	return words("eval", s.source, keys, args)
}

func words(name, script string, keys []string, args []any) []any {
	w := make([]any, 0, 3+len(keys)+len(args))
	w = append(w, name, script, len(keys))
	for _, k := range keys {
		w = append(w, k)
	}
	return append(w, args...)
}
