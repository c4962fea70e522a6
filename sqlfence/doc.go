// Package sqlfence keeps late writers out of an SQL database: the resource's
// side of fencing tokens, over database/sql, for PostgreSQL, MySQL, MariaDB and
// SQLite. The tokens may come from any lock service. It imports no driver.
//
//	var fence = sqlfence.New(sqlfence.Postgres, sqlfence.Options{Source: "etcd-eu"})
//
//	tx, err := db.BeginTx(ctx, nil)
//	// ... handle err, then: defer tx.Rollback()
//	if err := fence.Check(ctx, tx, lease.Key(), lease.Token()); err != nil {
//		return err // ErrStale: somebody has come after us
//	}
//	// ... read and write by tx, then: return tx.Commit()
//
// # What is promised
//
// A transaction that has passed Check commits only if no larger token of its key
// had been checked by then, and until it ends no other token is. What it reads
// contains every write of every transaction that has passed Check for the key
// before. This holds at each isolation level, and also where transactions check
// a key for the first time:
//   - READ COMMITTED: for what is read after the Check. What was read before may
//     be old; Advance first.
//   - REPEATABLE READ and SERIALIZABLE: for what is read before it too. If the
//     snapshot lacks a write that was checked since, Check returns ErrRetry, or
//     the database refuses the commit.
//
// A race that was lost is never a success: see ErrRetry and Dialect.Retryable.
// The mark is in the same database as the data and is written by the same
// transaction, so a crash keeps both or neither.
//
// # What is not promised
//
//   - A transaction that does not Check is not held up. Every writer must.
//   - Another database has its own marks: a new holder advances each before it
//     reads any.
//   - A commit that the database forgets, it forgets with its mark: under
//     synchronous_commit = off or innodb_flush_log_at_trx_commit = 0 or 2 in a
//     crash, after a fail-over to a replica that had not got it, after the
//     restore of a backup. Then an older token passes again.
//   - A mark that is deleted accepts any token again. Marks never expire and
//     are never deleted here; one row a key.
//   - Below READ COMMITTED nothing.
//
// # What it costs
//
// One statement on PostgreSQL and SQLite, two on MySQL and MariaDB (four for the
// first check of a key, five after a race), and one row written for each Check,
// also for one with an equal token: without that, two transactions of one holder
// could overwrite each other. Transactions on one key wait for each other from
// Check on.
//
// # What the user needs
//
// The table that Fence.Schema describes, made by your migrations, and the rights
// to SELECT, INSERT and UPDATE it. On SQLite a busy time-out, so that writers
// wait. Checks of several keys in one transaction go in the same order
// everywhere, or end in deadlocks now and then, which are ErrRetry.
package sqlfence
