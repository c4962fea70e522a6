// Command bench measures what distlock costs on real servers, beside a floor: the same
// thing written by hand on the same client library, without token, waiting or renewal.
//
//	make bench                                  from the top: starts servers, about half an hour
//	make bench BENCHFLAGS='-quick -run alone'   a few seconds, to see that it works
//	go run ./bench -json FILE -svg FILE         with DISTLOCK_TEST_REDIS and its like set; also writes and draws
//	make figures                                puts all of it into docs/benchmarks.md
//
// It prints Markdown tables. A line with a budget says whether it is met; the exit
// status does not depend on it, only on whether the runs were valid.
//
// # Method
//
// Distlock and the floor take turns in slices of a fraction of a second, in the order
// A B, B A, A B, …, so that whatever else the machine does hits both alike. Each pair of
// slices gives one ratio; printed are its median and, in brackets, its quartiles. The
// times beside it are medians over the slices, so their quotient need not be the ratio.
// Where the quartiles lie far apart, the machine was not quiet enough to tell.
//
//   - alone: one goroutine acquires and releases one key. Floor: SET NX PX, DELEX IFEQ.
//     The budget is for the median; the mean has in it whatever else the machine did. Two
//     more sides have no library in them: one runs the lock's two scripts by hand, which is
//     what the token and the wake-up cost at the server, whatever the client; one is the
//     floor with its SET in a script, which is what any script costs.
//
//   - busy: 20 goroutines do so on 10,000 keys drawn at random, with a pool of 20
//     connections on either side. The figure is elapsed time by operations. The floor
//     that meets a held key tries again at once. The two sides by hand are as above.
//
//   - hand-over: one process holds a key, another waits for it with 1, 8 or 32
//     goroutines that get it one after the other; each holds it for 1 ms. The figure is
//     the time from the call of Release to the return of the next Acquire, "across" for
//     the holder's own release, "inside" for those from one waiter to the next. A
//     process is a client of its own on a pool of its own. Floor: DELEX by one, then SET
//     by the other, after a hold of the same length: two round trips by one goroutine
//     that needs nobody to tell it. "8 processes" has one waiter in each of eight, and
//     whoever had the key, the first holder too, comes back 1 ms later.
//
//   - held: 10,000 leases of 6 s. Heap and goroutines are the growth from before the
//     acquisitions to after them, each time after a collection, with one lease held
//     before; keys and the slice of leases are not in it, all else of the client is.
//     Client CPU is getrusage of this process, user and system, for three renewal
//     intervals. Floor: one goroutine renews each key by one call of SET IFEQ PX in
//     turn, which costs less than the goroutine and timer for each that one would
//     really write.
//
//   - redlock: on five servers that the program starts for it, and stops and freezes.
//     Floor: one goroutine for each node that does SET NX PX, and DELEX IFEQ, on a client
//     like ours; it waits for all five. Alone and busy are as above. Hand-over is from one
//     client to another that waits; the floor does one after the other. "Beside all up"
//     compares acquisitions with nodes that hang (frozen) or are down to the same on five
//     others that are up.
//
//   - core: the same calls on the memory backend, for what the core alone costs.
//
//   - etcd: alone, busy and a hand-over to one waiter of another process, on one member.
//     Floor: a transaction that puts a key under a lease if it is not there, and one
//     that deletes it by its create revision. The lock's own two transactions, by hand,
//     take their turns beside both. A hand-over's floor is a release and then an
//     acquire. Most of the time is the member's disk's.
//
//   - zookeeper: one goroutine acquires and releases, on ZooKeeper, with the servers
//     that DISTLOCK_TEST_ZOOKEEPER names. Floor: an ephemeral node that is created and
//     deleted, two writes. The client library's own Lock takes its turns beside both,
//     and is compared with the same floor. On new keys each call has another key, whose
//     parent has to be made; the floor makes all its nodes under one parent.
//
//   - postgres alone, postgres busy, postgres hand-over: the same on Postgres. There are two
//     floors. One is a row that is inserted to take the lock and deleted to give it up: two
//     commits, one of which ours saves. The other is an advisory lock on a connection that
//     is kept, with no token and no commit: the difference is what a durable token costs. What
//     the disk adds to a commit is in a line of its own, since it decides these ratios: on
//     disks that are slow to flush they go towards a half. The floor of hand-over is ours, too: release
//     by one client and then acquire by the other, by one goroutine.
//
//   - peers, fairness, take-over, waiters, scale: distlock beside other libraries, on every
//     service that is there; docs/benchmarks.md has the method. In peers the ratio is to
//     distlock, not to a floor. The others have one run each and no ratio.
//
// Each grant of alone, busy, hand-over and those with peers, on all sides, is checked
// against an owner variable and, for distlock, tokens against the last one; a violation
// ends the program. One of a peer's is counted, as all its errors are, and printed with the
// last one's text.
//
// Consul has parts of its own, under "consul", on a server that keeps its data in memory,
// and for the first also on three members that write to disk. Floor: PUT ?acquire and PUT
// ?release on a session that is there, without a token. Beside it the transactions that
// one would write to have a token, on the same session. Two processes take turns at a key,
// 1 ms each, and come back 1 ms later; what they send is counted at their HTTP clients.
//
// # Commands
//
// Server commands are differences of INFO commandstats; INFO itself is left out. Redis
// counts there what scripts call, too. Commands that clients sent are what remains
// without those that in a hand-over only the scripts call (GET, SET, PTTL, TIME, DELEX,
// PUBLISH): leases live for 30 s there and are not renewed within a round. The window begins when
// all wait and ends with the last grant, so a hand-over is a release and a grant, and
// whatever its waiters sent meanwhile. "All in" is the same over whole rounds: with the
// refused attempt by which a process begins to wait, its subscriptions, the holder's
// way back and the last release, shared out among the same hand-overs.
//
// # Limits
//
// Client and server share the machine and its cores, over loopback: real networks make
// round trips dearer and everything else cheaper, so the ratios of alone and hand-over
// move towards one. The processes are one to the scheduler and the collector. Getrusage
// does not see the server. Servers without DELEX are not measured here. Other users of
// the server would be counted in its commands; it must have none.
package main
