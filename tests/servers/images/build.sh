#!/usr/bin/env bash
# Builds a stand-in for one official image from Debian's packages: build.sh postgres:18 | postgres:15 | mysql:9.7
# Needs root, debootstrap and a running container engine. Takes a minute or two once; the engine keeps the result.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
image=$1
case "$image" in
    postgres:18) suite=sid; args=(--build-arg MAJOR=18) ;;
    postgres:15) suite=bookworm; args=(--build-arg MAJOR=15) ;;
    mysql:9.7) suite=sid; args=() ;;
    *) echo "build.sh: no recipe for $image (know postgres:18, postgres:15, mysql:9.7)" >&2; exit 2 ;;
esac
base=selectq-debian:$suite
# One builder at a time: several images share a base.
exec 9>"${TMPDIR:-/tmp}/selectq-image-build.lock"
flock 9
if ! docker image inspect "$base" >/dev/null 2>&1; then
    root=$(mktemp -d)
    trap 'rm -rf "$root"' EXIT
    debootstrap --variant=minbase "$suite" "$root/rootfs" >"$root/log" 2>&1 || { tail -n 20 "$root/log" >&2; exit 1; }
    tar -C "$root/rootfs" -c . | docker import - "$base" >/dev/null
fi
if ! docker image inspect "$image" >/dev/null 2>&1; then
    DOCKER_BUILDKIT=0 docker build --network host --build-arg BASE="$base" "${args[@]}" -t "$image" "$here/${image%%:*}"
fi
