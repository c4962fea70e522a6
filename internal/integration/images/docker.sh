#!/usr/bin/env bash
# docker.sh: makes sure that a Docker engine answers. Does nothing where one
# does; on Debian, as root, installs docker.io and starts dockerd; elsewhere
# says what to do and fails.
set -euo pipefail

readonly log=/var/log/dockerd.log

main() {
	! answers || return 0
	[[ ! ${DOCKER_HOST-} ]] || die "no Docker engine answers at DOCKER_HOST=$DOCKER_HOST"
	if ((UID)) || ! hash apt-get 2>/dev/null; then
		die "no Docker engine answers: install one and start it (on Debian as root: apt-get install docker.io; dockerd &), or set DOCKER_HOST"
	fi

	# One at a time: two test processes may well find the engine missing together.
	exec 9>/run/distlock-test-docker.lock
	flock 9
	! answers || return 0
	install_engine
	start_engine
}

install_engine() {
	local packages=(docker.io iptables fuse-overlayfs) # the last for hosts whose root is an overlay itself
	! { hash dockerd && hash docker; } 2>/dev/null || return 0
	echo "docker.sh: installing docker.io" >&2
	apt-get update -q >&2
	# Newer releases have the client in a package of its own.
	[[ ! $(apt-cache pkgnames docker-cli) ]] || packages+=(docker-cli)
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${packages[@]}" >&2 </dev/null
}

# start_engine starts dockerd and waits until it answers. It outlives this script.
start_engine() {
	local pid=$$ deadline=$((SECONDS + 60))
	if [[ -d /run/systemd/system ]]; then
		systemctl start docker
	else
		# Without the lock's descriptor, which the daemon would hold for ever.
		setsid dockerd >>"$log" 2>&1 </dev/null 9>&- &
		pid=$!
	fi
	until answers; do
		if ((SECONDS > deadline)) || ! kill -0 "$pid" 2>/dev/null; then
			die "dockerd does not start, see $log or journalctl -u docker"
		fi
		sleep 0.2
	done
}

answers() {
	docker info >/dev/null 2>&1
}

die() {
	echo "docker.sh: $*" >&2
	exit 1
}

main "$@"
