package objectfence_test

import (
	"context"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
	"github.com/distlock-go/distlock/objectfence"
)

// A holder that is stopped past its lease comes back when somebody else has
// worked. The object refuses its write.
func Example() {
	bucket := newStore() // of S3 and the like: two methods around PutObject and GetObject
	fence := objectfence.New(bucket, objectfence.Options{Source: "memory"})

	ctx := context.Background()
	service := memory.New()
	client, _ := distlock.New(service)
	defer client.Close(ctx)
	slow, _ := client.Acquire(ctx, "ledger")
	fmt.Println("slow:", fence.Advance(ctx, "ledger.txt", slow.Token()))
	service.Expire("ledger") // it slept for longer than its lease

	other, _ := distlock.New(service)
	defer other.Close(ctx)
	next, _ := other.Acquire(ctx, "ledger")
	debit := func(line string) func(old []byte) ([]byte, error) {
		return func(old []byte) ([]byte, error) { return append(old, line+"\n"...), nil }
	}
	fmt.Println("next:", fence.Update(ctx, "ledger.txt", next.Token(), debit("-60 by next")))
	fmt.Println("slow:", fence.Update(ctx, "ledger.txt", slow.Token(), debit("-60 by slow")))
	content, _ := fence.Read(ctx, "ledger.txt")
	fmt.Printf("%s", content)
	// Output:
	// slow: <nil>
	// next: <nil>
	// slow: distlock: fence "ledger.txt" (object): stale token: 1 is smaller than 2
	// -60 by next
}
