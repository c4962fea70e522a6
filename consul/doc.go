// Package consul takes locks in the key/value store of a Consul datacenter.
// Import it as consullock:
//
//	import consullock "github.com/distlock-go/distlock/consul"
//
//	client, err := distlock.New(consullock.New(consul, nil)) // consul is your own *api.Client
//
// # What is promised
//
// A key has one holder at a time, and each grant's token is larger than the one
// before: distlock.FencingDurable. The token is the ModifyIndex of the lock's
// entry at the grant, a position in the log that the servers agree on, so it
// grows over release, expiry, deletion of the entry, elections, restarts and
// the loss of any minority. Only a datacenter that was built anew or restored
// from a snapshot begins with smaller ones. In the same datacenter [Held] makes a
// transaction conditional on the lock; [Fence] is for entries in another one, and takes the
// tokens of any lock service.
//
// A client has one session at Consul for each TTL and lock-delay in use, without
// health checks, so that it ends by its TTL alone. All leases of the client with
// these terms are valid until the TTL after the last renewal that was confirmed,
// counted from when it was sent. An election inside the TTL ends no lease: the
// new leader lets all sessions begin anew. Two things end a session before its
// TTL, and the key may then be granted before the old holder's deadline: an
// operator who destroys the session, and the end of its node in the catalog
// (force-leave, deregistration, autopilot when it removes a server that died, or
// servers that all crashed at once and come back without knowing of it). The
// lock-delay then keeps the next holder out; one as long as the TTL makes the
// deadline hold, unless an election follows at once. A resource that is fenced
// needs none. Sessions belong to the node of the agent that is asked, or to
// Options.Node.
//
// An entry that somebody deletes by hand frees its key, as Client.Break does. The
// holder learns of it after its next renewal, if its client has up to 22 leases with
// the same terms, and else within a TTL for each 64 of them, or part of 64: they are
// looked for by turns, behind renewals that are answered. Lease.Release and
// Client.CheckSequencer ask at once, and [Held] is met no more.
//
// # When the holder dies
//
// Its key is free to the next one at the latest
//
//	2 × TTL + lock-delay + 1 s (a waiter's poll)
//
// after its last renewal: Consul keeps a session for up to twice its TTL, and an
// election lets that begin anew. The lock-delay follows the end of a session
// that held the key; a release has none. It is 15 s where
// distlock.WithLockDelay says nothing, as Consul has it, and WithLockDelay(0)
// turns it off. Consul keeps the delay in the leader's memory, so an election
// ends it early.
//
// With the shortest TTL of 10 s and no lock-delay that is 21 s. Servers whose
// session_ttl_min is lower allow less: see Options.MinTTL.
//
// # What is in the store
//
// A lock is an entry PREFIX KEY whose value is a random id of the acquisition
// and the holder's text. It is there only while the lock is held: a release
// deletes it, and the session does when it ends (behavior "delete"), so that
// nothing piles up. An entry under a lock's name that no session holds is not
// this package's: it makes acquires fail and is left alone. In names, bytes of
// the key other than letters, digits and -_./ are written as = and two
// hexadecimal digits, and so are dots and slashes that a path could not have.
//
// Consul takes a second lock by the same session for a success. Here a lock is
// taken only where there is no entry, so the goroutines of one client exclude
// each other as clients do.
//
// # What it costs
//
// One request to acquire and one to release. For each session and third of its TTL one
// that renews it, and one behind it that looks for the entries of up to 22 leases. With
// more leases it comes less often, down to one in a TTL for 64 and any number beyond: so
// a thousand leases cost four requests in a TTL. A held lease has no connection and no
// goroutine. A process that waits has one blocking query for each key it waits
// for, and asks once a second beside it. Two processes that take turns at a key
// need four requests a turn.
//
// Inspect and CheckSequencer are one consistent read; Break is that and a transaction, with a
// lock-delay two requests more.
//
// Waiting is not first come first served between processes: at a release all
// are woken, and one is first. The process that has released lets the others go
// first, for up to 50 ms, once it knows of any, so that none starves; but not
// while all its blocking queries are under way (see below). Goroutines of one
// client are served in order.
//
// A Backend has at most 32 requests and 64 blocking queries under way; keys
// beyond these are waited for by polling. An agent takes 200 connections from
// one address (http_max_conns_per_client). A time-out of the http.Client under
// 10 s cuts the queries short, and waiters poll. net/http keeps as many idle ones as
// Config.Transport.MaxIdleConnsPerHost says, by default the number of processors
// and one; programs with more acquires at a time are faster with more.
//
// # What the user needs
//
// Consul 1.7 or later. Rights: key_prefix PREFIX write, and session write on
// the agent's node or Options.Node. ACL token, namespace, partition and
// datacenter are those of the client's Config. Sessions and entries lie in the
// datacenter that it names; another than the agent's own needs Options.Node.
package consul
