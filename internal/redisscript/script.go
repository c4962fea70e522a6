// Package redisscript holds the Lua scripts of the packages that speak to
// Redis. Each file says what it takes and what it answers. All keys are
// declared, and lie in one Cluster slot but for those of a node of several, which
// is no Cluster. Whatever can fail is checked before the first write; acquire.lua
// alone writes first and puts right behind it what does not fit, as it says.
package redisscript

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
)

var (
	//go:embed acquire.lua
	acquire string
	//go:embed renew.lua
	renew string
	//go:embed release.lua
	release string
	//go:embed releasevalue.lua
	releaseValue string
	//go:embed inspect.lua
	inspect string
	//go:embed break.lua
	breaks string
	//go:embed mark.lua
	mark string
	//go:embed reset.lua
	reset string
	//go:embed node.lua
	node string
	//go:embed vote.lua
	vote string
	//go:embed confirm.lua
	confirm string
	//go:embed repair.lua
	repair string
	//go:embed revoke.lua
	revoke string
)

// The scripts of locks.
var (
	Acquire      = New(acquire)
	Renew        = New(renew)
	Release      = New(release)
	ReleaseValue = New(releaseValue)
	Inspect      = New(inspect)
	Break        = New(breaks)
)

// The scripts of locks on independent nodes, besides Renew, Release and Inspect.
var (
	Vote    = New(node + vote)
	Confirm = New(node + confirm)
	Repair  = New(node + repair)
	Revoke  = New(revoke)
)

// Reset is that of a mark.
var Reset = New(reset)

// Marked returns a script that checks the mark of a resource, as mark.lua
// says, and then runs body: Lua in which KEYS and ARGV are those after the
// mark's.
func Marked(body string) *Script { return New(mark + body) }

// A Script is a Lua script and the name under which a server that has seen it
// knows it.
type Script struct{ source, sha any }

// New returns the script with this source.
func New(source string) *Script {
	sum := sha1.Sum([]byte(source)) // not for security: it is EVALSHA's name
	return &Script{source: source, sha: hex.EncodeToString(sum[:])}
}

// Words returns the command that runs the script: by its name, or, with whole,
// by sending it along, for a server that has answered NOSCRIPT. It has
// forgotten the script in a restart, or never seen it.
func (s *Script) Words(whole bool, keys []string, args ...any) []any {
	w := make([]any, 0, 3+len(keys)+len(args))
	if whole {
		w = append(w, "eval", s.source)
	} else {
		w = append(w, "evalsha", s.sha)
	}
	w = append(w, len(keys))
	for _, k := range keys {
		w = append(w, k)
	}
	return append(w, args...)
}
