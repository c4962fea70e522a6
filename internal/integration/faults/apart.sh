#!/bin/sh
# Prints the names of the tests that strike every backend, as one regular expression:
# those that call forBackends. They take a quarter of an hour on two cores and load them
# so much that tests beside them stall, so only "make faults" runs them.
cd "$(dirname "$0")" || exit 1
awk '/^func / {name = ""}
	/^func Test/ {split($2, part, "("); name = part[1]}
	/forBackends\(/ && name {printf "%s%s", sep, name; name = ""; sep = "|"}' ./*_test.go
