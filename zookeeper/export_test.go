package zookeeper

import (
	"net"
	"time"

	"github.com/distlock-go/distlock"
)

// What the tests see of the inside.
var (
	Escape      = escape
	Sequence    = sequence
	Before      = before
	OwnerOf     = ownerOf
	Predecessor = func(parent, own string, names []string) (string, error) {
		return predecessor(&node{path: parent + "/" + own}, names)
	}
)

// Visit is what a session of b's lives by that is closed soon.
func Visit(b *Backend) time.Duration { return b.visit().TTL }

// Known is how many owners a session of this package's has a record of.
func Known(api distlock.Session) (n int) {
	s := api.(*session)
	s.mark(func() { n = len(s.nodes) })
	return n
}

// NodeName is the name of a node of owner's.
func NodeName(owner distlock.Owner, sequence string) string { return prefix(owner) + sequence }

// A Pulse is a pulse.
type Pulse struct{ p pulse }

func NewPulse(tick time.Duration) *Pulse                 { return &Pulse{pulse{tick: tick}} }
func (p *Pulse) Add(sent, answered time.Duration)        { p.p.add(beat{sent, answered}) }
func (p *Pulse) Last() (since time.Duration, known bool) { return p.p.last() }
func (p *Pulse) Open() int                               { return len(p.p.open) }

// A Link is a link.
type Link struct {
	*link
	Expired int
}

func NewLink(b *Backend, patience time.Duration) *Link {
	l := &Link{link: newLink(b, patience)}
	l.expired = func() { l.Expired++ }
	return l
}

func (l *Link) Dial(address string) (net.Conn, error) { return l.connect("tcp", address, 0) }
func (l *Link) Shut()                                 { l.shut() }

// Opened returns the first greeting's fields, 0 if there was none.
func (l *Link) Opened() (id int64, timeout time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hello.id, l.hello.timeout
}

// Czxid is that of a node that was just created.
func (l *Link) Czxid(path string) int64 { return l.czxid(path) }

// Vain reports whether all servers were tried in vain.
func (l *Link) Vain() bool {
	select {
	case <-l.vain:
		return true
	default:
		return false
	}
}
