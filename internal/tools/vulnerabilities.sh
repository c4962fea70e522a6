#!/usr/bin/env bash
# Looks for known vulnerabilities that the code of the module in the current folder can reach, with the
# govulncheck at $1. Where its database cannot be reached it says so and succeeds; findings and every other
# error fail.
set -euo pipefail
govulncheck=$1

status=0
report=$(timeout 300 "$govulncheck" ./... 2>&1) || status=$?
case $status in
0) echo "known vulnerabilities: none" ;;
124) echo "known vulnerabilities: not known, as govulncheck has not ended in five minutes" && exit 1 ;;
*)
	# The request itself failed: an answer that is an error has other words.
	if [[ $status == 1 && $report =~ (^|$'\n')'govulncheck: fetching vulnerabilities: Get "' ]]; then
		echo "known vulnerabilities: not looked for, as the database cannot be reached"
		exit
	fi
	printf '%s\n' "$report"
	exit 1
	;;
esac
