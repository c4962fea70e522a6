// Package servers runs real servers in containers, for tests that need one and
// for tests that need one to fail.
//
// A [Spec] says how one server is run and is a value; [Redis], [Valkey91] and
// others are entries of that kind. [PairSpec], [SentinelSpec], [ClusterSpec] and
// [MastersSpec] arrange several servers, and [EnsembleSpec] those that agree by
// majority. [Start] starts any of them for a test and removes it afterwards:
//
//	s := servers.Start(t, servers.Redis)                          // *Server
//	c := servers.Start(t, servers.ClusterSpec{Of: servers.Redis}) // *Cluster
//
// Faults are methods with a context that return an error; [Do] runs them in a test:
//
//	servers.Do(t, s.Kill, s.Start)
//
// Some need a server that was started for them: [Spec.WithClock], [Spec.WithDisk].
//
// # Addresses
//
// Containers share the host's network and bind to 127.0.0.1 only, each to ports
// chosen once. So a server has the same address before and after a restart, what
// servers announce about each other is reachable from the test, and nothing is
// reachable from another machine. It needs Linux, or a Docker Desktop with host
// networking enabled. As there is no network of their own to take away, a server
// is cut off by a proxy in front of it: see [Server.Proxy].
//
// Members of an ensemble have networks of their own, so that they can be cut off from
// each other: see [Member.CutOff]. Towards clients all else holds for them too.
//
// # Clean-up
//
// Four things remove containers and networks, each for the case that the ones
// before cannot run: the test's own clean-up; the program's, for [Launch]ed servers; a watcher
// process, which outlives its parent by a second and catches panics, time-outs,
// Ctrl-C and SIGKILL; and a sweep before the first start, which removes what
// processes of this host left that no longer exist.
package servers
