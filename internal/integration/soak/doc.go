// Package soak runs worker processes on real servers of every backend, for as long as one
// likes, and checks all the while what the library promises. What is checked is told in
// package history: all that the workers see goes into a history, and that is judged.
//
// TestSoak has a nemesis that stops and kills the workers, kills and freezes their servers
// one at a time, cuts members of a cluster off from each other, and takes the workers'
// network away. The workers take locks on a few keys, in every way, and change a resource
// that their parent keeps behind a fence. Where the documentation says that a fault lets a
// grant come before another lease's deadline, the target says so too, and such grants are
// counted; tokens and fence are promised there as well. After each round every key can be
// locked, and nothing is left.
//
// TestLostUpdates is an experiment. Workers add elements to sets: each reads a set, works,
// and writes it as a whole, under a lock. A nemesis stops random workers for longer than
// their TTL. It is done without a fence, with one, and with workers that heed the loss of
// their lease. A stop counts if another holder has written while the stopped one was
// between its read and its write; so nothing depends on luck, only how long it takes.
// The figures are printed as Markdown.
//
// A backend joins by an entry in targets. The tests take about three minutes on two
// cores; "make soak" runs them for ten, or as long as SOAK says.
package soak
