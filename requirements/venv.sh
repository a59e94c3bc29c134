#!/bin/sh
# Makes a virtual environment with pip in it: venv.sh FOLDER PYTHON
set -eu
folder=$1 python=$2

if "$folder/bin/python" -m pip --version >/dev/null 2>&1; then exit 0; fi
if ! command -v "$python" >/dev/null; then
    echo "There is no $python. Name a Python 3.11 or later: make PYTHON=/path/to/python3 ..." >&2
    exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "selectq needs Python 3.11 or later, $python is $("$python" -V 2>&1)." >&2
    echo "Name another one: make PYTHON=/path/to/python3 ..." >&2
    exit 1
fi
if "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    "$python" -m venv --clear "$folder"
elif "$python" -c 'import pip, venv' 2>/dev/null; then
    # Debian's Python has no ensurepip, but a pip that can install one elsewhere.
    "$python" -m venv --clear --without-pip "$folder"
    "$python" -m pip --disable-pip-version-check --python "$folder/bin/python" install -qq pip
else
    echo "$python cannot make virtual environments: it has neither ensurepip nor pip." >&2
    echo "On Debian or Ubuntu: apt-get install python3-venv. Or name another one: make PYTHON=/path/to/python3 ..." >&2
    exit 1
fi
