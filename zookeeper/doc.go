// Package zookeeper takes locks on a ZooKeeper ensemble (servers 3.5.3 and
// later). Import it as zklock:
//
//	import zklock "github.com/distlock-go/distlock/zookeeper"
//
//	client, err := distlock.New(zklock.New([]string{"zk-1", "zk-2", "zk-3"}, nil))
//
// # How it works
//
// A ZooKeeper session is its connection, so the backend opens its own: a client
// has one session, over one connection, for each TTL and lock-delay in use,
// however many locks it holds. A lock is a node, and whoever has it or waits
// for it has an ephemeral sequential node below it:
//
//	ROOT / ESCAPED-KEY / OWNER-IN-HEX - SEQUENCE
//
// The one with the lowest sequence number holds the lock. Of the others' nodes a
// waiter watches the one before its own and no other, so that a release wakes one
// waiter however many there are, and the queue is first come first served across
// all processes. It watches its own too, to hear of a deletion. Sequence numbers are compared so that the order survives their
// wrap at 2^31. In a key everything but ASCII letters, digits and a few signs
// is written as % and two hexadecimal digits: a key is one path element, and
// no key's path contains another's. Nodes below a lock that have other names
// are ignored: other libraries' locks do not exclude ours.
//
// # What is promised
//
// The token is the czxid of the own node, the number of the transaction that
// created it: durable, strictly increasing over release, expiry, deletion of
// node and parent, change of leader and restart. It goes back only where the
// ensemble itself does: do not restore it from a backup, or rebuild it, under
// the same resources. [Held] makes any transaction on the same ensemble
// conditional on the lock; there no other fence is needed. Everywhere else use
// a distlock.Fence or its like ([Fence] is one for nodes in another ensemble):
// ZooKeeper grants a key once a session has run out, whether or not its holder
// has noticed.
//
// A holder knows that it may have lost its lock before the servers can grant
// it to another. That takes more than an answer. A server that is cut off from
// its leader goes on answering reads, a leader that is cut off from its followers
// goes on answering syncs, and a server passes on that a session is alive only with
// its answers to the leader's pings. So a probe is a write, of a transaction that
// changes nothing, which a majority has to take; and its send time counts only once a
// later one, sent at least a tick after the first one's answer, has been answered too.
// From then on the session lives for its time-out, whoever leads. This relies on the
// servers' tickTime being no longer than Options.Tick, and on a leader that sends its
// pings in time.
//
// When a node is deleted behind the library's back, its holder is told at once,
// by a watch on it that is set when the lock has been held for a tenth of a
// second. So is a client whose session the servers have ended, when it next
// reaches one of them. Its leases are lost then, and the next Acquire opens
// another session.
//
// # Times
//
// The session's time-out is TTL + lock-delay, which the servers must grant as
// asked: from 2 to 20 ticks by default, 4 to 40 s. If they grant less, opening
// fails with distlock.ErrInvalid. A dead holder's lock is free after TTL +
// lock-delay from its last sign of life, and up to a tick or two later; a
// change of leader gives every session its full time anew.
//
// As a renewal counts only a tick later, a probe goes ahead of each, and the lease is
// renewed from that one's time on. With the least TTL, two ticks, a third of a tick is
// left for a renewal to be late. Take three ticks or more.
//
// At the worst moment seven twelfths of the TTL are left, less a tick and a half. To
// outlast the loss of a leader, that has to do for an election, which takes about half a
// second, and for the way to another server: a sixth of the TTL at one that says nothing,
// and two pauses of a second. So five twelfths of the TTL have to be 3 s and a tick and a
// half: with servers as they come, take 15 s or more. A leader that hangs, or is cut off,
// is given up by its followers after syncLimit ticks, which have to be added: 24 s if that
// is 2 ticks, 39 s if it is 5. A member that is just about to join a leader when it is
// lost can hold the election up for initLimit ticks and more; few leases outlast that.
//
// # Costs
//
// Acquire: two round trips once the lock's parent is there, and still two, most
// of the time, where it has to be made. One to release. A refused attempt:
// three, as it stands in the queue and leaves it again. A wait adds three reads to
// the two round trips of Acquire: two set the watches, on the own node and on the
// one before it, and one follows when the latter fires. Renewal: two
// writes for each session at every third of the TTL, three with a TTL of 15 ticks and
// five below 9; besides that the client library sends its own pings. A lock that is held
// for longer than a tenth of a second costs one read and one watch on the server, and no
// goroutine.
//
// Parents are containers: the servers remove them when they are empty, about
// once a minute. A session costs the client about 1.6 MiB of address space for
// the library's buffers, of which it touches little.
//
// Client.Inspect, CheckSequencer and Break open a session and close it, besides two reads
// behind a write that changes nothing and, to break, another: some ten milliseconds on a
// good day. With a lock-delay Break takes a tick more. What a Break leaves for it is a node with an owner of zeros.
//
// # What the user needs
//
// Rights: create, read and delete on Options.Root and below. Nodes get
// Options.ACL; a Root that does not exist is created with it. Who waits behind a
// node that it may not read is told zk.ErrNoAuth, after about a TTL. Every server
// should be in the list of addresses, so that a session survives the loss of
// its server. Clients may not use local sessions alone.
package zookeeper
