package proxy

// Stats counts what a proxy has done. A test polls it to see that a request has
// arrived or a reply is held.
type Stats struct {
	Accepted int // connections so far
	Open     int // connections that are not over
	Requests Flow
	Replies  Flow
}

// Flow counts the bytes of one direction, of all connections so far.
type Flow struct {
	Read      int64 // taken from the sender
	Forwarded int64 // given to the receiver
	Lost      int64 // swallowed
}

// Pending returns the bytes that are held, delayed or just being forwarded, and those
// whose connection ended first.
func (f Flow) Pending() int64 { return f.Read - f.Forwarded - f.Lost }

// Stats returns the counts as they are now.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Open = len(p.conns)
	return s
}

// flow returns the counts of a direction. The caller holds mu.
func (p *Proxy) flow(dir int) *Flow {
	if dir == requests {
		return &p.stats.Requests
	}
	return &p.stats.Replies
}
