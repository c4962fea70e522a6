// Package redis takes locks on one Redis or Valkey service: a single server,
// one behind Sentinel, or a Cluster. Import it as redislock:
//
//	import redislock "github.com/distlock-go/distlock/redis"
//
//	client, err := distlock.New(redislock.New(rdb, nil))
//
// # What is promised
//
// While the server keeps its data and its clock goes steadily, a key has one
// holder at a time and each grant's token is larger than the one before. The
// token is the larger of the last one + 1 and the server's clock in
// microseconds, minted in the script that takes the lock; so it goes on
// growing when the counter was lost. The level is
// distlock.FencingBestEffort, and it is no more, since:
//   - Failover. Replication is asynchronous. A replica that takes over may not
//     know of the last grants: a key can be granted again while its holder
//     holds it, until that holder's deadline. The new token is larger if the
//     new server's clock is past the old token. While two servers both think
//     they are the master, both grant, and their tokens interleave.
//   - Restart. A server without persistence forgets all locks; with
//     appendfsync everysec, those of the last second or so. Then as above.
//   - Eviction. Under maxmemory with any policy but noeviction the server may
//     drop locks and counters to make room. Use noeviction: then a full server
//     refuses to lock (OOM).
//   - Clock. Expiry follows the server's wall clock. A step forward frees locks
//     before their holders' deadlines. A step back keeps them longer, and
//     tokens go on from the counter. A counter is kept for 24 h, or ten TTLs if
//     that is more, past the larger of itself and the clock, so that by then
//     the clock is past the counter: unless it was set back by more than that.
//
// A resource that refuses smaller tokens stays correct in all of these where
// the tokens still grow. For one that is itself a key in Redis, see Fence.
//
// Nothing here waits for replicas or for the disk. A value under a lock's key
// that is another string than this library's counts as held, and is never overwritten;
// Inspect and Break say distlock.ErrForeign.
//
// # What it costs
//
// One round trip to acquire and one to release, with the wake-up in it; n
// leases are renewed in pipelines of up to 500. Calls of one client that come
// at the same time share a pipeline, or two. On a Cluster each call goes by itself, and the
// wake-up of a release is passed on to all nodes. Acquire and release are scripts, for
// Redis 7.0 and later; that of a release uses DELEX (Redis 8.4) or DELIFEQ (Valkey 9)
// where there is one. Renewal is SET IFEQ (Redis 8.4, Valkey 8.1), before them a script.
// The server is asked once; should another one answer later that does not know a
// command, the scripts that do without take over.
//
// A process that waits holds one connection for all the keys it waits for, and
// closes it about a second after the last wait. Between two processes a key is
// handed over with three commands: the release, its wake-up, and the attempt.
//
// No command is repeated by go-redis, whatever MaxRetries says: an acquire
// whose connection breaks is sent once more by this package, and a call whose
// answer does not come ends with its ctx, at most 250 ms later.
//
// Client.Inspect, Client.Break and the check of a sequencer are one script each, on the
// server that grants: see Backend.Inspect for how fresh its answer is, and Backend.Break
// for what a failover does to it.
//
// # What the user needs
//
// Rights: EVALSHA, EVAL, GET, SET, DEL, PEXPIRE, PTTL, TIME, PUBLISH, SUBSCRIBE,
// UNSUBSCRIBE and PING, on the keys and channels that begin with Options.Prefix; INFO,
// and DELEX or DELIFEQ, if it is to use the newer commands; and PUBSUB NUMSUB if
// Inspect is to count waiters. Ping tries all that are needed, and an error of it names
// the one that is missing. A Fence needs EVALSHA, EVAL, GET and
// SET, and what the writes need that it is given, on the resources and on the keys
// that begin with FenceOptions.Prefix.
//
// Time to connect, which is go-redis's affair: by default it waits 5 s for an
// address that does not answer (DialTimeout) and tries five times (DialerRetries,
// 100 ms apart), so that a port where nobody listens is an error after 0.4 s. A call
// whose ctx ends meanwhile leaves; one without a deadline has its error after 10 s,
// or one TTL if that is shorter.
package redis
