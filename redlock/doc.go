// Package redlock takes locks on a majority of several independent Redis or
// Valkey servers, as the algorithm of that name says. Import it as it is:
//
//	import "github.com/distlock-go/distlock/redlock"
//
//	nodes := []goredis.UniversalClient{a, b, c, d, e} // a client for each server
//	client, err := distlock.New(redlock.New(nodes, nil))
//
// # When to use it
//
// Where several Redis servers are at hand, no replication binds them, and a
// lock is to be had while some of them are down: for efficiency, that is, where
// two holders at a time cost money and nothing else. Its safety depends on
// time: on clocks of servers that run steadily, on delays that are short
// beside the TTL, and on servers that do not forget. If one of these fails, two
// clients can hold a key at once, and nothing here can tell.
//
// Where a double run must not happen, do not use it. Use etcd, ZooKeeper,
// Consul or Postgres, whose locks do not depend on the clocks of their
// servers and whose tokens are durable, and let the resource check the token.
// Options.Fenced below is better than nothing and less than those.
//
// Where a lost lock now and then is bearable, one Redis (package redis) is
// simpler, and its tokens are no worse.
//
// # What is promised
//
// A key is granted if a majority of the nodes grants it, in parallel; it is
// valid from before the requests were sent, for the TTL less 1 % and 2 ms. Two
// grants at a time need a node that has given the key to both. That takes
//   - a node that has lost its data: restarted without persistence, emptied by
//     FLUSHALL, restored from a file, or evicting keys (use the policy
//     noeviction). It must stay away for the longest TTL + lock-delay of any
//     client; Options.RestartDelay sees to that;
//   - a node's clock that is set forward by more than what the grant has left.
//     One node of five matters only where the key is on three: where two were
//     down, or had not yet forgotten the last holder. A renewal puts it on all;
//   - servers whose clocks run apart by more than 1 %.
//
// A client that is stopped or slow at any moment is not on this list: what it
// took too long to get is not handed over, and what has run out is not valid.
// What no lock can tell, a stop between the last look at the lease and the
// write, is the fence's.
//
// By default there are no tokens, since nodes that know nothing of each other
// share no counter: Lease.Token is 0, and distlock.RequireFencing fails. See
// Options.Fenced for those that there can be, what they are worth, and why.
//
// # What fails, and how
//
// A decision falls as soon as a majority has answered or cannot be had any
// more. What slower nodes say is dealt with behind: their grants belong to the
// lease, or are undone if there is none. Nodes that have not answered lately
// are asked only if the others are no majority. So nodes that hang or are down
// cost nothing as long as they are a minority. Without a majority an acquire
// fails within Options.NodeTimeout, or twice that with Options.Fenced, with an error
// that names each node and what it said, and matches the nodes' own errors.
//
// A renewal needs a majority again, and never brings back a lock that a
// majority has lost. A node that has lost it alone gets it back, with its
// token, in one script, once a majority has confirmed that it has it still.
//
// If several clients ask at once, the nodes may be split so that none has a
// majority. All give up what they have, and try again after a pause that
// differs. A TryAcquire answers ErrHeld then, although nobody has the key.
//
// Two nodes that are the same server are found by the server's run id, by the
// client's Ping and by the first acquisition, and again whenever a node has been
// away. From then on nothing is granted.
//
// # What it costs
//
// One round trip to each node to acquire, in parallel, and one to release; with
// tokens, two to acquire. Calls of one client that come at the same time share
// pipelines. Without tokens and without RestartDelay an acquisition is SET … NX
// GET (Redis 7.0, Valkey), not a script. A waiting client holds one more
// connection to each node.
//
// No command is repeated by go-redis, whatever MaxRetries says. Its Hooks see
// all commands, unless the client has no ReadTimeout: then a copy with one of
// 10 s is used, and copies have no hooks.
//
// Client.Inspect and Client.Break ask all nodes in one round trip, and in one more: see
// Backend.Inspect and Backend.Break.
//
// # What the user needs
//
// Redis 6.2 or later, or Valkey. Rights: EVALSHA, EVAL, GET, SET, DEL, PEXPIRE,
// PTTL, TIME, DELEX or DELIFEQ, PUBLISH, SUBSCRIBE and UNSUBSCRIBE, on the keys
// and channels that begin with Options.Prefix, and INFO; and PUBSUB NUMSUB if Inspect is
// to count waiters.
package redlock
