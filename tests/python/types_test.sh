#!/bin/sh
# The package's types, and what they say of a user's program. A "type: ignore" that mypy does not
# need is an error: then it has accepted what is wrong.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
if ! command -v mypy >/dev/null; then
  echo "skipped: no mypy; install with: scripts/setup python"
  exit 77
fi
cd "$root"
# NumPy and PyTorch, which take a minute to read, are anything.
MYPYPATH=python exec mypy --strict --follow-imports=skip --ignore-missing-imports \
  --no-incremental --cache-dir=/dev/null --explicit-package-bases \
  python/cohom python/cohom_autoload tests/python/typed_program.py
