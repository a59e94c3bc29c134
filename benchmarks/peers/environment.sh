#!/bin/sh
# Makes a virtual environment for a peer in .peers, from requirements/NAME.txt: environment.sh NAME
set -eu
cd "$(dirname "$0")"
name=$1 python=${PYTHON:-python3}
top=../..
folder=$top/.peers/$name pins=requirements/$name.txt

if cmp -s "$pins" "$folder/installed.txt"; then exit 0; fi
echo "Installing $name into .peers/$name"

# mysqlclient comes as source only.
library() { for each in mysqlclient mariadb libmariadb; do pkg-config --exists "$each" 2>/dev/null && return; done; false; }
if grep -q '^mysqlclient==' "$pins" && ! { library && command -v cc >/dev/null; }; then
    needed='default-libmysqlclient-dev pkg-config gcc libc6-dev python3-dev'
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "mysqlclient is built from source. On Debian or Ubuntu: apt-get install $needed" >&2
        exit 1
    fi
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $needed >/dev/null
fi

mkdir -p "$top/.peers"
$top/requirements/venv.sh "$folder" "$python"
"$folder/bin/python" -m pip install -qq --disable-pip-version-check -r "$pins"
cp "$pins" "$folder/installed.txt"
