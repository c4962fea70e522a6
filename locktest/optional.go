package locktest

import (
	"errors"
	"time"

	"github.com/distlock-go/distlock"
)

func queueContract(r *row) {
	s, t := r.bare()
	q := s.(distlock.Queuer)
	h := r.grant(s, r.request(t))
	for range 3 { // waiters that gave up leave no place behind
		req := r.request(t)
		_, err := q.Acquire(r.within(slack/10), req)
		if err == nil || errors.Is(err, distlock.ErrHeld) {
			r.Fatalf("Queuer.Acquire of a held key: got %v, want an error other than ErrHeld", err)
		}
		err = s.Release(r.within(r.patience()), distlock.Hold{Key: req.Key, Owner: req.Owner, Terms: t}) // as the core does
		if err != nil && !errors.Is(err, distlock.ErrLost) {
			r.Fatalf("Session.Release of a place in the queue: got %v, want nil or ErrLost", err)
		}
	}
	req := r.request(t)
	granted := make(chan error, 1)
	go func() { // ends with its ctx
		next, err := q.Acquire(r.within(r.patience()), req)
		if err == nil && r.fenced() && next.Token <= h.Token {
			err = errors.New("the token has not grown")
		}
		granted <- err
	}()
	r.throughout(slack/5, func() error {
		if len(granted) > 0 {
			return errors.New("Queuer.Acquire returned while the key was held")
		}
		return nil
	})
	start := time.Now()
	r.giveUp(s, h)
	if err := <-granted; err != nil {
		r.Fatalf("Queuer.Acquire: %v", err)
	}
	if took := time.Since(start); took > soon {
		r.Errorf("the head of the queue got a released key after %v", took)
	}
	r.giveUp(s, distlock.Hold{Key: req.Key, Owner: req.Owner, Terms: t})
	r.nothingLeft(r.key)
}

func watchContract(r *row) {
	s, t := r.bare()
	w := s.(distlock.Waker)
	holder, _ := r.bare()
	woken := make(chan struct{}, 100)
	stop := w.Watch(r.key, func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	defer stop()
	wake := func(what string) {
		r.Helper()
		select {
		case <-woken:
		case <-time.After(soon):
			r.Errorf("no wake-up %s within %v", what, soon)
		}
	}
	wake("when Watch begins")
	for range 3 {
		h := r.grant(holder, r.request(t))
		for len(woken) > 0 {
			<-woken
		}
		r.giveUp(holder, h)
		wake("after a release")
	}
}
