# shellcheck shell=bash
# Sourced by what writes files that others read; as benchmarks/output_file.hpp does it for C++.

# place_file SOURCE TARGET: the content of SOURCE, a file, replaces TARGET as a whole where that is
# a file or is not there, and is written to it where it is anything else. Links are followed.
place_file() {
  local target
  target=$(realpath --canonicalize-missing -- "$2")
  if [[ -e $target && ! -f $target ]]; then
    cat -- "$1" >"$target" || return
  elif ! cp -- "$1" "$target.partial-$$" || ! mv --no-target-directory -- "$target.partial-$$" "$target"; then
    rm -f -- "$target.partial-$$"
    return 1
  fi
  rm -f -- "$1"
}
