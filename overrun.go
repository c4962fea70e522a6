package distlock

import (
	"context"
	"time"
)

// overrunAfter is how long a function of Do or Campaign has to stop after its
// lease has ended before the trace is told. By then the next holder can be at
// work.
const overrunAfter = time.Second

// watchOverrun reports if fn, which is about to run under l, goes on after l
// has ended. Returned is to be called when fn has returned, and before l is
// released; report then waits until the trace has been told.
func (l *Lease) watchOverrun() (returned, report func()) {
	if l.client.trace.Overrun == nil {
		return func() {}, func() {}
	}
	over, told := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(l.Context(context.Background()), func() { // ends after fn: report waits for it
		defer close(told)
		l.reportOverrun(over)
	})
	return func() {
			if stop() {
				close(told)
			}
			close(over)
		}, func() {
			<-told
		}
}

// reportOverrun tells the trace when fn has run on for too long, and again when
// it has returned at last.
func (l *Lease) reportOverrun(over <-chan struct{}) {
	c := l.client
	start := c.now()
	timer := time.NewTimer(overrunAfter)
	defer timer.Stop()
	select {
	case <-over:
		return
	case <-timer.C:
	}
	i := OverrunInfo{
		Backend: c.info.Name, Key: l.hold.Key, Token: l.hold.Token,
		Past: c.now().Sub(start), Err: l.Err(),
	}
	c.trace.Overrun(i)
	<-over
	i.Past, i.Returned = c.now().Sub(start), true
	c.trace.Overrun(i)
}
