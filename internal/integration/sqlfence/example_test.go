package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
	"github.com/distlock-go/distlock/sqlfence"
)

var (
	ctx   = context.Background()
	fence = sqlfence.New(sqlfence.SQLite, sqlfence.Options{Source: "memory"})
)

// set writes the balance as the holder of lease.
func set(db *sql.DB, lease *distlock.Lease, balance int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := fence.Check(ctx, tx, lease.Key(), lease.Token()); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE account SET balance = ?", balance); err != nil {
		return err
	}
	return tx.Commit()
}

// A holder that is stopped past its lease comes back when somebody else has
// worked. The database refuses its write.
func Example() {
	db, _ := sql.Open("sqlite", "file::memory:")
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection to :memory: is another database
	db.ExecContext(ctx, fence.Schema())
	db.ExecContext(ctx, "CREATE TABLE account (balance); INSERT INTO account VALUES (100)")

	service := memory.New()
	client, _ := distlock.New(service)
	defer client.Close(ctx)
	slow, _ := client.Acquire(ctx, "account-42")
	fmt.Println("slow:", fence.AdvanceDB(ctx, db, slow.Key(), slow.Token()))
	service.Expire("account-42") // it slept for longer than its lease

	other, _ := distlock.New(service)
	defer other.Close(ctx)
	next, _ := other.Acquire(ctx, "account-42")
	fmt.Println("next:", set(db, next, 40))

	err := set(db, slow, 0)
	fmt.Println("slow:", errors.Is(err, distlock.ErrStale))
	fmt.Println(err)
	// Output:
	// slow: <nil>
	// next: <nil>
	// slow: true
	// distlock: fence "account-42" (sqlite): stale token: 1 is smaller than 2
}
