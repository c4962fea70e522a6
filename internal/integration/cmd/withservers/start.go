package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/distlock-go/distlock/internal/integration/servers"
)

// startAll starts all entries at once and returns their settings for the
// environment. It prints a line for each that is up. If one cannot be started, no
// other is waited for; the caller removes what was started.
func startAll(ctx context.Context, entries []servers.Entry) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	settings, errs := make([]string, len(entries)), make([]error, len(entries))
	var wg sync.WaitGroup
	for i, e := range entries {
		wg.Go(func() {
			if settings[i], errs[i] = start(ctx, e); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	return settings, first(errs)
}

// start starts one entry and returns its setting.
func start(ctx context.Context, e servers.Entry) (string, error) {
	begin := time.Now()
	f, err := e.Launch(ctx)
	if err != nil {
		return "", err
	}
	setting := e.Setting(f)
	fmt.Fprintf(os.Stderr, "withservers: %-15s %5.1f s  %s\n", e.Name, time.Since(begin).Seconds(), setting)
	return setting, nil
}

// first returns the error that made the others fail, if one can be told.
func first(errs []error) error {
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return errors.Join(errs...)
}
