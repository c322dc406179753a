# shellcheck shell=bash
# What checks of an installation share: sourced with their arguments, BUILD and TREE first. Makes
# TREE anew.

build=$1
tree=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034 # who sources this uses it
root=$(cd "$here/../.." && pwd)
: "${CXX:=c++}" "${CMAKE:=cmake}"
rm -rf "$tree"

# Into $tree/installed. As a component, though all is in this one: what users have installed from
# BUILD stays listed as such.
install_build() {
  "$CMAKE" --install "$build" --component Unspecified --prefix "$tree/installed" >/dev/null
}
