package distlock

import "time"

// WithClock replaces the client's clock. It is the way to let a machine be
// suspended: the clock goes on while timers stand still.
func WithClock(now func() time.Duration) Option {
	return Option{name: "WithClock", newOnly: true, apply: func(s *settings) error {
		s.clock = now
		return nil
	}}
}

// The bounds of one call to the service.
const (
	CloseBound  = closeBound
	OpenBound   = openBound
	MaxBatch    = maxBatch
	MaxSessions = maxSessions
)

// Idle reports whether c looks after nothing at all.
func (c *Client) Idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.agenda.entries) == 0 && len(c.lines) == 0 && len(c.leases) == 0 &&
		len(c.calls) == 0 && c.dust.count == 0 && !c.agenda.running
}

// Contexts returns how many contexts l keeps account of.
func (l *Lease) Contexts() int {
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	return len(l.contexts)
}

// RenewAll renews every lease now, in the caller's goroutine, and returns how
// many there were.
func (c *Client) RenewAll() (n int) {
	c.mu.Lock()
	b := make(batches)
	for l := range c.leases {
		b[l.session] = append(b[l.session], l)
	}
	chunks := b.chunks()
	c.unlock()
	for _, ch := range chunks {
		n += len(ch.leases)
		c.renew(ch)
	}
	return n
}

var (
	Sequencer      = sequencer
	ParseSequencer = parseSequencer
	ProcessName    = processName
)
