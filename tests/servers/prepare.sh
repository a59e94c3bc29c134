#!/usr/bin/env bash
# Makes sure that a container engine answers and has the images named: prepare.sh [IMAGE...]
# Installs and starts an engine only as root on Debian or its like; images that can't be pulled are built.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
variables="SELECTQ_TEST_POSTGRES_URL, the same with POSTGRES15, POSTGRES16 and POSTGRES17, and SELECTQ_TEST_MYSQL_URL"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

fail() {
    echo "$1" >&2
    echo "Or name running servers instead: $variables" >&2
    exit 1
}

answers() { docker info >"$log" 2>&1; }

wait_for_engine() { # SECONDS
    for _ in $(seq "$1"); do
        if answers; then return 0; fi
        sleep 1
    done
    return 1
}

apt_install() { # PACKAGE...
    # A source that can't be reached is no reason to stop: the packages may be had from the others.
    apt-get -qq update >"$log" 2>&1 || true
    DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install --no-install-recommends -y "$@" \
        >"$log" 2>&1 </dev/null || { tail -n 20 "$log" >&2; fail "apt-get could not install: $*"; }
}

runs() { # NAME: is there a living process of that name?
    local status
    for status in /proc/[0-9]*/status; do
        if grep -qsx "Name:.$1" "$status" && ! grep -qs '^State:.Z' "$status"; then return; fi
    done
    return 1
}

start_engine() {
    [ "$(id -u)" = 0 ] || fail "No container engine answers: start Docker, or see that you may use it.
$(grep -m 1 -iE 'denied|cannot|not found' "$log" || tail -n 1 "$log")"
    if ! command -v dockerd >/dev/null; then
        command -v apt-get >/dev/null || fail "There is no container engine, and no apt-get to install one with: install Docker."
        echo "Installing a container engine"
        packages=(docker.io iptables)
        if ! command -v docker >/dev/null && apt-cache show docker-cli >/dev/null 2>&1; then packages+=(docker-cli); fi
        apt_install "${packages[@]}"
        if wait_for_engine 5; then return; fi
    fi
    echo "Starting the container engine"
    if [ -d /run/systemd/system ] && systemctl start docker; then
        wait_for_engine 30 && return
    fi
    # An engine that was killed leaves its number behind; the next one will not start while anything, a zombie or a thread
    # included, has that number.
    runs dockerd || rm -f /var/run/docker.pid
    runs containerd || rm -f /var/run/docker/containerd/containerd.pid
    # In a session of its own and with none of our files, so that it stays when we and our caller end.
    engine_log=${TMPDIR:-/tmp}/selectq-dockerd.log
    setsid dockerd >"$engine_log" 2>&1 </dev/null &
    wait_for_engine 60 || { tail -n 20 "$engine_log" >&2; fail "dockerd does not answer; its log is $engine_log"; }
}

pull() { # IMAGE; gives up when no registry answers for two minutes, or after fifteen
    docker pull "$1" >"$log" 2>&1 </dev/null &
    local pull=$! step
    for step in $(seq 1800); do
        if ! kill -0 "$pull" 2>/dev/null; then
            wait "$pull"
            return
        fi
        if [ "$step" -gt 240 ] && ! grep -q 'Pulling from' "$log"; then break; fi
        sleep 0.5
    done
    kill "$pull"
    return 1
}

build() { # IMAGE
    [ "$(id -u)" = 0 ] || fail "The image $1 can't be pulled, and only root can build a stand-in."
    if ! command -v debootstrap >/dev/null; then
        command -v apt-get >/dev/null || fail "The image $1 can't be pulled; to build a stand-in, install debootstrap."
        apt_install debootstrap debian-archive-keyring
    fi
    "$here/images/build.sh" "$1" >"$log" 2>&1 || { tail -n 20 "$log" >&2; fail "The image $1 can't be pulled or built."; }
}

# Tests run passes behind a proxy that pools transactions.
if ! PATH=$PATH:/usr/sbin command -v pgbouncer >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing pgbouncer"
    apt_install pgbouncer
fi
[ $# -gt 0 ] || exit 0
answers || start_engine
pullable=yes
for image in "$@"; do
    if docker image inspect "$image" >/dev/null 2>&1; then continue; fi
    if [ "$pullable" = yes ]; then
        echo "Pulling $image"
        if pull "$image"; then continue; fi
        pullable=no
    fi
    echo "Building a stand-in for $image"
    build "$image"
done
