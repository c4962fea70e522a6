package sqlfence_test

import (
	"fmt"

	"github.com/distlock-go/distlock/sqlfence"
)

// The table of marks is yours to create, in a migration or at start.
func ExampleFence_Schema() {
	fence := sqlfence.New(sqlfence.Postgres, sqlfence.Options{Source: "etcd-eu", Table: "billing.lock_marks"})
	fmt.Println(fence.Schema())
	// Output:
	// CREATE TABLE IF NOT EXISTS "billing"."lock_marks" (
	// 	lock_key text COLLATE "C" PRIMARY KEY,
	// 	source   text COLLATE "C" NOT NULL,
	// 	token    bigint NOT NULL CHECK (token >= 0)
	// )
}
