// Package faults holds the tests of the library on real servers that fail: whose
// processes are killed, frozen or restarted, whose memory is lost, and between which
// and the client packets are swallowed, delayed or delivered late.
//
// What every backend must do with its network cut and restored is in the conformance
// suite, locktest. Here is what needs a second process, a server of its own to break,
// many clients at a time, or a figure.
package faults
