package zookeeper_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/distlock-go/distlock"
	zklock "github.com/distlock-go/distlock/zookeeper"
	"github.com/go-zookeeper/zk"
)

// Run a function under a lock.
func Example() {
	ctx := context.Background()
	servers := []string{"zk-1:2181", "zk-2:2181", "zk-3:2181"}
	client, err := distlock.New(zklock.New(servers, nil), distlock.WithTTL(15*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	if err := client.Ping(ctx); err != nil { // at start-up: there is a quorum, and we have the rights
		log.Fatal(err)
	}

	err = distlock.Do(ctx, client, "invoice-77", func(ctx context.Context, lease *distlock.Lease) error {
		return nil // the work; ctx ends when the lease does
	})
	if errors.Is(err, distlock.ErrLost) {
		log.Print("somebody else may have done it too")
	}
}

// Keep the locks below a node of one's own, for nobody else to see, and connect by TLS.
func ExampleNew_options() {
	_, err := distlock.New(zklock.New([]string{"zk-1", "zk-2", "zk-3:2281"}, &zklock.Options{
		Root: "/billing/locks",
		Auth: []zklock.Auth{{Scheme: "digest", Credentials: []byte("billing:secret")}},
		ACL:  zk.AuthACL(zk.PermAll), // for whoever has shown these credentials
		Dial: (&tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS13}}).DialContext,
	}))
	fmt.Println(err) // no server has been asked yet
	// Output: <nil>
}

// Time-outs are the servers' to grant, from 2 to 20 of their ticks.
func ExampleNew_bounds() {
	backend := zklock.New([]string{"zk-1", "zk-2", "zk-3"}, nil)
	_, err := distlock.New(backend, distlock.WithTTL(time.Second))
	fmt.Println(errors.Is(err, distlock.ErrInvalid), err)
	_, err = distlock.New(backend, distlock.WithTTL(30*time.Second), distlock.WithLockDelay(15*time.Second))
	fmt.Println(errors.Is(err, distlock.ErrInvalid), err)
	// Output:
	// true distlock: new (zookeeper): invalid argument: TTL is 1s, must be between 4s and 40s
	// true distlock: new (zookeeper): invalid argument: TTL + lock-delay is 45s, must be at most 40s
}
