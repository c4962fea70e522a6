package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// The floor is a lock written by hand.

const (
	floorTTL = 30 * time.Second
	// floorOwner is as long as an owner of distlock's is. On one server all may share it,
	// as only the holder deletes.
	floorOwner = "0123456789012345678901234567890123456789"
)

// floorOwners numbers those of newFloorOwner.
var floorOwners atomic.Int64

// newFloorOwner returns an owner that nobody else has.
func newFloorOwner() string {
	return fmt.Sprintf("%0*d", len(floorOwner), floorOwners.Add(1))
}

var errGone = errors.New("floor: the key was not there")

// floorTry makes one attempt.
func floorTry(ctx context.Context, rdb *goredis.Client, key, owner string, ttl time.Duration) (bool, error) {
	err := rdb.SetArgs(ctx, key, owner, goredis.SetArgs{Mode: "NX", TTL: ttl}).Err()
	if errors.Is(err, goredis.Nil) {
		return false, nil
	}
	return err == nil, err
}

// floorAcquire tries until it has key.
func floorAcquire(ctx context.Context, rdb *goredis.Client, key string) error {
	for {
		if ok, err := floorTry(ctx, rdb, key, floorOwner, floorTTL); ok || err != nil {
			return err
		}
	}
}

func floorRelease(ctx context.Context, rdb *goredis.Client, key, owner string) error {
	n, err := rdb.Do(ctx, "delex", key, "ifeq", owner).Int()
	if err == nil && n != 1 {
		err = errGone
	}
	return err
}

// floorRenew extends key if it is still ours.
func floorRenew(ctx context.Context, rdb *goredis.Client, key string, ttl time.Duration) error {
	err := rdb.Do(ctx, "set", key, floorOwner, "ifeq", floorOwner, "px", ttl.Milliseconds()).Err()
	if errors.Is(err, goredis.Nil) {
		err = errGone
	}
	if err != nil {
		return fmt.Errorf("renew %s: %w", key, err)
	}
	return nil
}
