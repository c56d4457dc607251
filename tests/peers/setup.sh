#!/usr/bin/env bash
# Makes a virtual environment with requirements.txt and prints its interpreter,
# for TOOLSCOUT_PEERS_PYTHON. Does nothing where that is done already.
# usage: setup.sh VENV_DIR
set -euo pipefail
if [ $# -ne 1 ]; then
  echo "usage: setup.sh VENV_DIR" >&2
  exit 2
fi
wanted="$(cd "$(dirname "$0")" && pwd)/requirements.txt"
mkdir -p "$1"
venv="$(cd "$1" && pwd)"
installed="$venv/installed-requirements.txt"

if ! cmp -s "$wanted" "$installed" || ! "$venv/bin/python" -c pass 2> /dev/null; then
  # The folder is emptied: it must be one that was made here, or empty already.
  if [ ! -e "$venv/pyvenv.cfg" ] && [ -n "$(ls -A "$venv")" ]; then
    echo "$venv is not empty and no virtual environment; name another folder" >&2
    exit 1
  fi
  "${PYTHON:-python3}" -m venv --clear "$venv" >&2
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$wanted" >&2
  cp "$wanted" "$installed"
fi
echo "$venv/bin/python"
