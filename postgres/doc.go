// Package postgres takes locks in a PostgreSQL database, from version 14 on.
// Import it as pglock:
//
//	import pglock "github.com/distlock-go/distlock/postgres"
//
//	client, err := distlock.New(pglock.New(pool, nil)) // pool is your own pgxpool.Pool
//
// The table that it needs is made by what [Schema] returns, or by itself with
// Options.CreateTable.
//
// # Which form
//
//   - The resource is this database, and the work fits in a transaction:
//     [AcquireTx], or a lock on the row itself, or none and a version column. The
//     commit that writes the data ends the lock, so that nobody comes too late.
//   - The work is longer than a transaction, or touches something else: a lease,
//     and a fence at the resource. If that is this database, see [Fence].
//
// The example for the whole package shows them side by side.
//
// # What is promised of a lease
//
// A lease is a session-level advisory lock, and its token a counter in a table,
// raised in the statement that takes the lock and committed before the lease is
// returned. While the server and its connection to it live, a key has one
// holder at a time, and each grant's token is larger than the one before. The
// next grant never comes before Lease.Deadline, with one exception:
//
// The server frees a lock the moment it ends the connection that has it, and that
// can be before the holder knows: after pg_terminate_backend, a restart, a
// failover, or a reset of the connection between the two. A read is pending on
// each lock connection, so the holder learns of it within one round trip if the
// network carries the news, and by its deadline if not. A write that is on its
// way in that moment is what the token is for.
//
// A client that is frozen, cut off or gone is thrown out by the server itself, by
// idle_session_timeout, one TTL after its last sign of life, which comes every third of a
// TTL. What that needs is a server that runs, not one that notices the client's end.
//
// Tokens are the larger of the last one + 1 and the server's clock in
// microseconds, so that they go on growing when a counter was lost. Over a crash
// of the server, also right after a grant, and over a restart they grow strictly,
// since a commit is waited for (synchronous_commit is set to on, or left at
// remote_apply), unless the server runs with fsync off. Over a failover:
//   - to a synchronous standby (synchronous_standby_names), strictly: a commit
//     that the standby has not confirmed was handed to nobody, also where an
//     operator has cancelled the wait for it;
//   - to an asynchronous one, only as far as the clock of the new primary is past
//     the last token: it may lack the last counters, and both it and the old
//     primary can grant until that is down.
//
// Which one it is the backend cannot see. Options.NoAsyncFailover declares that
// no asynchronous standby takes over; then the level is distlock.FencingDurable,
// and distlock.FencingBestEffort without. A backup that is restored takes the
// counters back in any case.
//
// The lock-delay of a holder whose connection has ended is in the counter's row:
// whoever comes first finds it there, notes in the row until when it runs, by the
// server's clock, and lets go of the lock; until then every attempt is refused.
// So it begins with the first attempt after the loss, not with the loss. With a
// lock-delay of one TTL or more no grant comes before the old holder's deadline
// even where the server has freed its lock early, a failover to an asynchronous
// standby apart.
//
// # Connections
//
// A client has one connection of its own for each TTL and lock-delay in use, made
// with the pool's configuration but outside the pool: held leases and waiters
// take none of the pool's connections, and a pool of one is enough. All leases
// share it, and attempts that come at the same time share a round trip and a
// commit. It also listens for releases, so that a waiter costs nothing more;
// a waiter runs no statement while it waits, and holds no snapshot.
//
// Who waits says so on the lock's channel, one notification for each wait, so that
// all who listen know who came first. After a release that client tries at once and
// the others only if it does not, 20 ms a place and 60 ms at most, and each asks at
// least once a second. A client that has just released a key that others wait for
// lets them go first, TryAcquire too. So no waiter starves; strictly first come, first
// served it is not: who comes while the lock is free has it, and who has only begun to
// listen does not know who was there before.
//
// After an error, an unexpected warning or an unexpected answer from the server
// it is not known what the connection holds. It is closed then, all leases on it
// are lost, and told so at once. A caller whose ctx ends leaves it as it is: the
// answer is waited for, and what was granted is given back.
//
// A pooler in transaction mode gives every transaction another connection, and
// is refused. Use AcquireTx behind it, or make the pool of this backend go around.
//
// # What the user needs
//
// Rights: CONNECT, USAGE on the schema of the table, and SELECT, INSERT and UPDATE on it.
// Room: one connection of max_connections for each client and terms; one entry of
// the lock table for each lease (about max_locks_per_transaction ×
// max_connections in all; over that the server refuses, and others' locks too).
// The table has a row for each key that was ever locked. The database must be in UTF8.
//
// Client.Break waits for the holder's next renewal, and where that does not come has the
// server end the holder's connection: see [Backend.Break].
//
// Who holds what (and [Backend.Inspect] for one key, which takes care of grants that
// are under way):
//
//	SELECT t.key, t.holder, t.token, t.granted_at, l.pid FROM pg_locks l JOIN distlock_tokens t
//	ON l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND (l.classid::bigint << 32 | l.objid::bigint) = t.id
//
// # What it costs
//
// One round trip and one commit to acquire, one round trip without a commit to
// disk to release (with a lock-delay, two statements in it), and one small
// statement every third of a TTL for all leases of a client.
package postgres
