// Package history checks what a lock and the resource behind it did, by what several
// processes saw of them.
//
// Each process notes its calls with a [Log]: one line when a call begins and one when it
// returns, with times of the machine's own clock, which is the same for all processes.
// Their parent reads the lines into a [History], and [Check] says which rules it breaks.
// A call that never returned, since its process was killed, has an unknown outcome: it
// may have been carried out at any time, or never.
//
// The rules are
//   - [RepeatedToken], [TokenOrder]: of two grants of a key neither has the other's token,
//     and one that was asked for after the other had returned has the larger one;
//   - [EarlyGrant]: no grant returns before the deadline of an earlier lease that its
//     holder has not begun to release;
//   - [SmallerAccepted], [WronglyRefused]: the resource accepts no smaller token after a
//     larger one, and refuses none for another reason;
//   - [LostWrite]: every acknowledged write is one that the last value is based on;
//   - [Lock], [Register]: some order of all calls that agrees with their times explains
//     what the lock, and the register behind the fence, have answered;
//   - [Undecided]: that order was found, or found to be missing, in the time given.
//
// All judge by what is certain. What a process measured too early or too late, because
// it was stopped between a call and its note, makes a call longer, or a deadline
// earlier, and so accuses nobody.
package history
