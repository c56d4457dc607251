#!/usr/bin/env bash
# Installs the MCP Inspector of package.json and prints its command line, for
# TOOLSCOUT_PEERS_INSPECTOR; in DIR/servers those of ../servers and in
# DIR/conformance the suite of ../conformance, whose libraries are others. Does nothing where that is done already.
# usage: setup.sh DIR
set -euo pipefail
if [ $# -ne 1 ]; then
  echo "usage: setup.sh DIR" >&2
  exit 2
fi
here="$(cd "$(dirname "$0")" && pwd)"
mkdir -p "$1"
dir="$(cd "$1" && pwd)"

# install WANTED FOLDER PROGRAM
install() {
  if ! cmp -s "$1" "$2/installed.json" || [ ! -e "$2/node_modules/.bin/$3" ]; then
    mkdir -p "$2"
    cp "$1" "$2/package.json"
    npm install --prefix "$2" --ignore-scripts --no-package-lock --no-audit --no-fund --silent >&2
    cp "$1" "$2/installed.json"
  fi
}
install "$here/package.json" "$dir" mcp-inspector
install "$here/../servers/package.json" "$dir/servers" mcp-server-everything
install "$here/../conformance/package.json" "$dir/conformance" conformance
echo "$dir/node_modules/.bin/mcp-inspector"
