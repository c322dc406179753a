#!/bin/sh
# A user's -Ofast and -ffast-math change nothing: our flags win, at compile time and at link time,
# and where they would not, compiling ends with an error that says so.
#
# usage: fast_math_test.sh SOURCE_FOLDER CMAKE CXX
set -eu

source=$1
cmake=$2
compiler=$3
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# check NAME FLAG...: the flags of cmake that a user might give.
check() {
  name=$1
  shift
  if ! { "$cmake" -S "$source/tests/fast_math" -B "$work/$name" -G Ninja \
    -D CMAKE_CXX_COMPILER="$compiler" "$@" &&
    "$cmake" --build "$work/$name"; } >"$work/log" 2>&1; then
    cat "$work/log" >&2
    echo "$name: does not build" >&2
    exit 1
  fi
  printf '%s: ' "$name"
  "$work/$name/program"
}

check user_flags -D CMAKE_CXX_FLAGS="-Ofast -ffast-math"
check unsafe -D CMAKE_CXX_FLAGS="-funsafe-math-optimizations -ffinite-math-only"
check build_type -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_FLAGS_RELEASE="-Ofast"

for flag in -ffast-math -Ofast -ffinite-math-only; do
  if "$compiler" -std=c++20 $flag -I "$source" -c "$source/tests/fast_math/rounding.cpp" \
    -o "$work/rounding.o" 2>"$work/log"; then
    echo "$flag: compiled" >&2 && exit 1
  fi
  grep -q 'cohom must be compiled without -ffast-math' "$work/log" ||
    { cat "$work/log" >&2 && exit 1; }
done
echo "fast math is refused"
