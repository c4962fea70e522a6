package distlock

import "errors"

// A LossCause says why a lease was lost, in LostInfo.
type LossCause int

// The causes.
const (
	// LossGone: the service said that the lock, or the session, is gone.
	LossGone LossCause = iota
	// LossNoAnswer: no renewal was answered before the deadline.
	LossNoAnswer
	// LossNotRenewed: one TTL has passed, WithoutRenewal.
	LossNotRenewed
	// LossMaxHold: WithMaxHold allowed no more.
	LossMaxHold
)

// String returns "gone", "no answer", "not renewed" or "max-hold".
func (c LossCause) String() string {
	switch c {
	case LossNoAnswer:
		return "no answer"
	case LossNotRenewed:
		return "not renewed"
	case LossMaxHold:
		return "max-hold"
	}
	return "gone"
}

// lossCause tells which of them err is.
func lossCause(err error) LossCause {
	switch {
	case errors.Is(err, errNoAnswer):
		return LossNoAnswer
	case errors.Is(err, errNotRenewed):
		return LossNotRenewed
	case errors.Is(err, errMaxHold):
		return LossMaxHold
	}
	return LossGone
}
