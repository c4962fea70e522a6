// Package soak runs worker processes for as long as one likes, on real Redis servers, while
// a nemesis stops and kills them, restarts their servers and takes their network away,
// and checks all the while what the library promises.
//
// Each worker takes locks on a few keys and changes a resource that its parent keeps
// behind a fence. Checked are
//   - a grant's token is larger than every token of its key that was known before the
//     call began, and no two grants have the same;
//   - the resource never accepts a token smaller than one that it has seen;
//   - no update behind the fence is lost: each write is based on the one before it;
//   - where the service keeps its locks whatever the nemesis does: a lease is not valid
//     any more when its write was refused for the sake of a later one;
//   - at the end each key can be locked, and nothing is left.
//
// A backend joins by an entry in targets. The test takes a quarter of a minute;
// "make soak" runs it for ten, or as long as SOAK says.
package soak
