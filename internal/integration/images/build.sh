#!/usr/bin/env bash
# build.sh [NAME:TAG...]: builds the test servers' images from Debian packages
# and Go modules, for hosts that reach no image registry.
#
# Builds the named images (all of them without arguments) as distlock-test/NAME:TAG,
# and base:trixie, which they are based on; but only those that are missing or were built from other files than the ones
# here. Prints a line per image built. May run in several processes at once.
#
# Needs Debian, root, bash, and Go for etcd; see docker.sh for the engine.
#   DISTLOCK_DEBIAN_MIRROR  the mirror to use instead of the one apt uses
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly prefix=distlock-test/
readonly images=(
	etcd:3.7 redis:8.6 postgres:17 redis:8.0 valkey:8.1 valkey:9.1
	zookeeper:3.9 consul:1.8 pgbouncer:1 mariadb:11
)

# build_args prints what an image passes to its Dockerfile: the Debian suite and,
# as some suites move, the version that the tag stands for.
build_args() {
	case $1 in
	redis:8.6) echo PRODUCT=redis SUITE=experimental VERSION=8.6 ;;
	redis:8.0) echo PRODUCT=redis SUITE=trixie VERSION=8.0 ;;
	valkey:8.1) echo PRODUCT=valkey SUITE=trixie VERSION=8.1 ;;
	valkey:9.1) echo PRODUCT=valkey SUITE=forky VERSION=9.1 ;;
	esac
}

# folder_of prints the folder of an image's Dockerfile.
folder_of() {
	case $1 in
	valkey:*) echo redis ;;
	*) echo "${1%%:*}" ;;
	esac
}

main() {
	local image wanted=()
	if [[ ${1-} == --one ]]; then
		build_one "$2"
		return
	fi
	"$here/docker.sh"
	(($#)) || set -- "${images[@]}"
	for image in "${@#"$prefix"}"; do
		[[ " base:trixie ${images[*]} " == *" $image "* ]] || die "no image $image; there are: base:trixie ${images[*]}"
		present "$image" || wanted+=("$image")
	done
	((${#wanted[@]})) || return 0

	lock apt
	hash debootstrap 2>/dev/null || install_debootstrap
	MIRROR=$(debian_mirror)
	unlock
	DOCKER_BUILDKIT=$(has_buildkit)
	export MIRROR DOCKER_BUILDKIT
	"$here/build.sh" --one base:trixie
	# Two at a time: unpacking packages waits for the disk about as long as it computes.
	printf '%s\n' "${wanted[@]}" | xargs -P 2 -n 1 "$here/build.sh" --one || die "not all images were built"
}

# build_one builds an image unless another process has done so meanwhile.
build_one() {
	local image=$1 start=$SECONDS
	lock "$image"
	! present "$image" || return 0

	work=$(mktemp -d)
	trap 'rm -rf --one-file-system "$work"' EXIT # debootstrap, interrupted, leaves /proc mounted
	local build=build_folder
	case $image in
	base:*) build=build_base ;;
	etcd:*) build=build_etcd ;;
	esac
	# Errors within a function that is part of a condition would go unnoticed,
	# hence the shell of its own.
	set +e
	(set -e && "$build" "$image") >"$work/log" 2>&1 </dev/null 9>&-
	local status=$?
	set -e
	if ((status)); then
		tail -n 40 "$work/log" >&2
		die "$prefix$image: failed after $((SECONDS - start)) s, see above"
	fi
	echo "$prefix$image: built in $((SECONDS - start)) s"
}

build_base() {
	local root=$work/root packages=tcc,libc6-dev
	[[ $MIRROR != https:* ]] || packages+=,ca-certificates
	debootstrap --variant=minbase --include="$packages" trixie "$root" "$MIRROR"
	chroot "$root" tcc -shared -o /usr/local/lib/clockshift.so - <"$here/base/clockshift.c"
	chroot "$root" apt-get purge -y tcc libc6-dev libc-dev-bin libcrypt-dev linux-libc-dev rpcsvc-proto
	install -m 755 "$here/base/apt-from" "$root/usr/local/sbin/"
	install -m 755 "$here/base/policy-rc.d" "$root/usr/sbin/"
	install -m 755 "$here/base/entrypoint" "$root/usr/local/bin/"
	install -m 644 "$here/base/dpkg-lean" "$root/etc/dpkg/dpkg.cfg.d/"
	# The host's resolver and mirror must not be baked in.
	rm "$root/etc/resolv.conf" "$root/etc/hostname" "$root/etc/apt/sources.list"
	tar -C "$root" -c --exclude='./usr/share/doc/*' --exclude='./usr/share/info/*' --exclude='./usr/share/locale/*' \
		--exclude='./usr/share/man/*/*' --exclude='./var/cache/apt/*' --exclude='./var/lib/apt/lists/*' . |
		docker import --change "LABEL source=$(source_of "$1")" --change 'ENTRYPOINT ["entrypoint"]' - "$prefix$1"
}

# build_etcd compiles on the host, which has Go and a module cache. The version
# is the one in etcd/go.mod.
build_etcd() {
	local context=$work/etcd
	mkdir "$context"
	cp "$here/etcd/Dockerfile" "$context"
	cd "$here/etcd"
	GOWORK=off GOFLAGS=-mod=readonly CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$context/" \
		go.etcd.io/etcd/server/v3 go.etcd.io/etcd/etcdctl/v3
	docker_build "$1" "$context"
}

build_folder() {
	docker_build "$1" "$here/$(folder_of "$1")"
}

docker_build() {
	local arg args=(--build-arg "MIRROR=$MIRROR")
	for arg in $(build_args "$1") http_proxy https_proxy; do
		args+=(--build-arg "$arg")
	done
	docker build --force-rm --label "source=$(source_of "$1")" --tag "$prefix$1" "${args[@]}" "$2"
}

# present says whether an image exists and was built from the files as they are now.
present() {
	[[ $(docker image inspect --format '{{.Config.Labels.source}}' "$prefix$1" 2>/dev/null) == "$(source_of "$1")" ]]
}

# source_of prints a digest of all files an image is built from.
source_of() {
	(
		cd "$here"
		build_args "$1"
		find base "$(folder_of "$1")" -type f | LC_ALL=C sort | xargs sha256sum
	) | sha256sum | cut -c 1-16
}

# debian_mirror prints the mirror that apt uses. Asking apt covers .sources and
# .list files alike; all suites of Debian, experimental too, are on one mirror.
debian_mirror() {
	local mirror=${DISTLOCK_DEBIAN_MIRROR-}
	[[ $mirror ]] || mirror=$(mirror_of_apt)
	if [[ ! $mirror ]]; then
		apt-get update -q >&2 # indextargets knows an origin only from downloaded indices
		mirror=$(mirror_of_apt)
	fi
	[[ $mirror ]] || die "apt on this host has no Debian mirror; set DISTLOCK_DEBIAN_MIRROR to one"
	echo "${mirror%/}"
}

mirror_of_apt() {
	# shellcheck disable=SC2016 # the variables are apt's
	apt-get indextargets --format '$(ORIGIN)/$(LABEL)/$(RELEASE) $(REPO_URI)' 'Identifier: Packages' |
		sed -n 's|^Debian/Debian/[a-z]* ||p' | head -n 1
}

install_debootstrap() {
	((UID == 0)) || die "debootstrap is missing; as root: apt-get install debootstrap"
	apt-get update -q >&2
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends debootstrap >&2 </dev/null
}

# lock waits until no other process holds the lock of this name, and takes it on
# descriptor 9: it ends with unlock, or with the process.
lock() {
	local folder=${TMPDIR:-/tmp}/distlock-test-images.$UID
	mkdir -p "$folder"
	exec 9>"$folder/$1"
	flock 9
}

unlock() {
	exec 9>&-
}

# has_buildkit prints 1 or 0. A client without buildx refuses to build where the
# default is BuildKit, and a new one may have no other builder.
has_buildkit() {
	if docker buildx version >/dev/null 2>&1; then echo 1; else echo 0; fi
}

die() {
	echo "build.sh: $*" >&2
	exit 1
}

main "$@"
