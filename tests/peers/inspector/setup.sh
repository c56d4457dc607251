#!/usr/bin/env bash
# Installs the MCP Inspector and the servers of package.json and prints the
# command line of the inspector, for TOOLSCOUT_PEERS_INSPECTOR; the servers lie
# beside it. Does nothing where that is done already.
# usage: setup.sh DIR
set -euo pipefail
if [ $# -ne 1 ]; then
  echo "usage: setup.sh DIR" >&2
  exit 2
fi
wanted="$(cd "$(dirname "$0")" && pwd)/package.json"
mkdir -p "$1"
dir="$(cd "$1" && pwd)"
program="$dir/node_modules/.bin/mcp-inspector"

if ! cmp -s "$wanted" "$dir/installed.json" || [ ! -e "$program" ]; then
  cp "$wanted" "$dir/package.json"
  npm install --prefix "$dir" --ignore-scripts --no-package-lock --no-audit --no-fund --silent >&2
  cp "$wanted" "$dir/installed.json"
fi
echo "$program"
