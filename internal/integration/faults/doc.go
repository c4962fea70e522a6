// Package faults holds the tests of the library on real servers that fail: whose
// processes are killed, frozen or restarted, whose memory is lost, and between which
// and the client packets are swallowed, delayed or delivered late.
//
// What every backend must do with its network cut and restored is in the conformance
// suite, locktest. Here is what needs a second process, a server of its own to break,
// many clients at a time, or a figure.
//
// The matrix, in cells_test.go, says for each backend and fault what holds and which test
// shows it. A test of a cell says so by calling covers, or runs for all backends by
// forBackends. A run of all tests fails for each cell that was not proved; "make faults"
// prints the matrix with what was measured, and docs/faults.md has the last such report.
package faults
