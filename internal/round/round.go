// Package round rounds times to what a service counts in.
package round

import "time"

// Up returns the least whole number of units that is not shorter than d: a lock is
// never kept for less than was asked. A negative d means something else than a time,
// such as that none was asked for, and is returned as it is.
func Up(d, unit time.Duration) time.Duration {
	if rest := d % unit; rest > 0 {
		d += unit - rest
	}
	return d
}
