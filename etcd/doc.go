// Package etcd takes locks on an etcd cluster. Import it as etcdlock:
//
//	import etcdlock "github.com/distlock-go/distlock/etcd"
//
//	client, err := distlock.New(etcdlock.New(cli, nil))
//
// # How it works
//
// A client has one etcd lease for each TTL in use, which the client renews as
// a whole however many locks it holds. For each lock that it holds or waits
// for it has one key under that lease,
//
//	PREFIX ESCAPED-KEY / LEASE-ID-IN-HEX
//
// whose value is the acquisition's random owner id and the holder's text. The
// keys of one lock are its queue: the one that was created first holds the
// lock. TryAcquire puts its key only if no other is there. A waiter watches the
// one key before its own, so that a release wakes one waiter however many there
// are, and the queue is first come first served across all processes. The next
// in the queue watches its own key with it, in one watch: told that the first
// is gone, and not that its own was before, it has the lock and asks no more.
//
// Only keys under a lease count. A key that somebody put there without one is
// ignored, so that it blocks nobody for ever; one with a lease takes its turn
// like ours. So “etcdctl lock PREFIX ESCAPED-KEY” and the client's own
// concurrency.Mutex stand in the same queue.
//
// # What is promised
//
// The token is the revision at which the own key was created: cluster-wide and strictly
// increasing in the order of grants, over release, expiry, deletion of keys,
// change of leader and restart of all members: distlock.FencingDurable. The key is
// not written again but by Client.Break, which [Held] sees too. [Held]
// makes any transaction on the same cluster conditional on the lock: there etcd
// is fence and resource in one. Everything else needs a distlock.Fence or its
// like ([Fence] is one for keys in another cluster), since etcd grants a key once a lease has run out, whether or not its
// holder has noticed.
//
// A holder's validity is counted from the time before its last confirmed
// renewal was sent, on its own clock, and ends before the server's lease does.
// A lease that was revoked is told at once, by a watch, to holders and to
// waiters; a key that was deleted behind the library's back at the next
// renewal, at a third of the TTL.
//
// # What failures do
//
//   - A leader that is stopped, killed, frozen or cut off: the others elect
//     another, in one to two seconds with etcd's defaults, and give every lease
//     its full time anew. Holders and waiters keep their places, and renewals
//     go on through the others. A TTL of 6 s or more outlasts that; with a
//     shorter one the holder may be told of a loss by its deadline.
//   - A member that is cut off from the others, or has fallen silent: each
//     renewal asks up to four times, and etcd's client takes turns with its
//     endpoints. With that member as its only endpoint the holder is told by
//     its deadline, before anybody else is granted the lock.
//   - A leader that was stalled and comes back believes for a moment that
//     leases have expired. This package believes only renewals, which leaders
//     confirm with the others first. Servers had to be mended for that, and not to
//     revoke what their successor has renewed: use the latest 3.4 or 3.5, or
//     3.6 and later. It is tested on 3.7.
//   - A restart of all members: locks, queue and tokens are on disk.
//   - Restoring a snapshot sets the revision back, and with it the tokens, and
//     brings back the locks that it contains for as long as their leases had
//     been granted. Restore with etcdutl's --bump-revision and --mark-compacted,
//     and do not exchange a cluster for a new one under the same lock names:
//     or start with new marks at all fences.
//   - Compaction, while somebody waits: the queue is read again.
//
// # Times
//
// TTL and lock-delay are rounded up to whole seconds each; the server keeps
// the lease for their sum. A dead holder's lock is free after TTL + lock-delay
// from its last renewal, and up to a second later since expiry is checked each
// half second and passes through the log. Each change of leader in between adds
// as much again, and an election timeout; with more than a thousand leases
// expiring at once the new leader spreads them out further.
//
// # Costs
//
// Acquire and TryAcquire of a free key: one round trip, and one to release.
// The first on a client: one more, which makes the lease. A refused attempt:
// one, and a write to the log like the others. A wait: one transaction to queue
// up and a watch; one read for each that leaves the queue before the last one
// does, or if the queue changed while the watch began; and one read of two keys
// each second, in case the watch's member is dead. Renewal: one request per
// lease at every third of the TTL, and one more that lists the keys under it
// while locks are held. A held lock costs no goroutine and no watch; a client
// has one of each for each TTL.
//
// Every look into a lock's queue passes the names that were deleted there since
// the last compaction. There is one for each client that has used the lock, not
// for each time, so the cluster's usual automatic compaction is enough.
//
// Inspect and CheckSequencer: one linearizable read of the lock's queue, and one request
// for the time left. Break: that read and one write; with a lock-delay two requests more.
//
// # The user's client
//
// It may be wrapped by the namespace package (wrap KV, Watcher and Lease) and
// use auth; the role needs read and write access to the whole prefix. It is
// never closed. Give it all endpoints, and DialKeepAliveTime and
// DialKeepAliveTimeout: without them etcd's client goes on asking a member
// that has fallen silent in turn with the others, and each such request fails
// only by its time-out. It logs requests that fail to standard error, unless
// its Logger is set.
package etcd
