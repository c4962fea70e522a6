// Package distlock takes distributed locks that tell you what they are worth.
//
// A lock here is a [Lease]: it ends by itself if its holder dies or is cut off,
// and its holder hears of that in time. Each grant carries a [Token], a number
// that is larger than that of every earlier grant of the key, so that a
// resource can refuse a holder that comes too late.
//
//	client, err := distlock.New(redislock.New(rdb, nil)) // rdb is your own go-redis client
//	// ... handle err, then: defer client.Close(ctx)
//	err = distlock.Do(ctx, client, "invoice-77", func(ctx context.Context, lease *distlock.Lease) error {
//		return pay(ctx, lease.Token()) // ctx ends when the lease does
//	})
//
// One sub-package per lock service does the talking: redis (import it as
// redislock), redlock, etcd (etcdlock), zookeeper (zklock), consul (consullock),
// postgres (pglock), and memory, which serves one process and tests. This package
// does everything else, and does it the same way for all of them: it waits,
// renews, measures validity, signals loss and cleans up behind calls that were
// cut short.
//
// # What is promised
//
//   - While the lock service keeps its data and its clock, does not end the
//     holder's session (Postgres, Consul: see there), and nobody frees the key
//     by force ([Client.Break] without a lock-delay, a lock deleted by hand), a
//     key has one holder at a time, and the next grant never comes before
//     [Lease.Deadline]. That is counted from before the request was sent, and
//     goes on while the machine sleeps (on Linux).
//   - A lost lease closes [Lease.Done] and ends its contexts by a timer that
//     waits for no network call.
//   - A token comes from the service within the grant, and tokens rise as far
//     as the backend's [Fencing] level says. [RequireFencing] makes [New] fail
//     where that is not enough. Where there is no order the token is 0.
//   - What a call leaves behind when it fails or is cancelled blocks others for
//     a second at most while the service is reachable, and for one lifetime of
//     a grant otherwise.
//
// # What is not promised
//
// No lock can promise that its holder still holds it when a write arrives: the
// process can be paused between its last check and its write, past its lease,
// while the next holder works. Only the resource can refuse that write, by its
// token. Nor is there fairness between processes where the service has none. A
// lease is not re-entrant: who acquires a key that it holds waits for itself.
//
// What refuses late writes:
//
//   - [Fence]: to what is in this process;
//   - package sqlfence: to rows in PostgreSQL, MySQL, MariaDB and SQLite;
//   - package objectfence: to objects in S3 and the like;
//   - packages httpfence and grpcfence carry the token to a service that has
//     one of these;
//   - for what is in a lock service, a guard of the backend's package: a Fence
//     takes the tokens of any service, Held of etcd, zookeeper and consul their own.
//
// # Two contracts
//
// Efficiency: a double run costs money, not correctness. Take the lock, stop
// when the context ends, and ignore the token.
//
// Correctness: a holder that has been replaced must change nothing. Ask for a
// level with RequireFencing, let every resource check the token in the same
// step as it writes, and [Fence.Advance] each of them before you read any.
//
// # Errors
//
// Decisions are sentinels, matched with [errors.Is]: [ErrHeld], [ErrLost],
// [ErrReleased], [ErrStale], [ErrSource], [ErrForeign], [ErrNoFencing], [ErrClosed],
// [ErrInvalid]. [*Error] says what was tried. An acquire that ended by its own
// ctx matches the ctx's error; time-outs of this package never look like it.
package distlock
