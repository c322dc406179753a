#!/usr/bin/env bash
# wheel_test.sh LIBRARY: the package as `pip install .` makes it, with a library that is built
# already, in a fresh virtual environment. Exit status 77: pip cannot get what it builds with.
set -euo pipefail
library=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -r "$tree"' EXIT

skip() { echo "skipped: $(tail -n 1 "$tree/log")" && exit 77; }
python3 -m venv "$tree/venv" 2>"$tree/log" || skip
"$tree/venv/bin/pip" --quiet download --no-deps --dest "$tree/found" 'scikit-build-core>=0.10' \
  2>"$tree/log" || skip
"$tree/venv/bin/pip" --quiet wheel --no-deps --wheel-dir "$tree/wheels" \
  -C cmake.define.COHOM_PYTHON_PREBUILT="$library" "$root"
wheels=("$tree"/wheels/cohom-*-py3-none-*.whl)
[[ ${#wheels[@]} == 1 && -e ${wheels[0]} ]] || { ls "$tree/wheels" >&2 && exit 1; }
"$tree/venv/bin/pip" --quiet install --no-deps "${wheels[0]}"
cd "$tree"  # not beside the sources
unset COHOM_PYTHON_LIBRARY PYTHONPATH
"$tree/venv/bin/python" -m cohom.info | tee "$tree/info"
grep -q '^codecs: raw' "$tree/info"
"$tree/venv/bin/python" - <<'PYTHON'
import array
import cohom
vector = array.array("f", [1, 2, 3])
list(cohom.Rounds("raw", 3, "float32", 0, 1).steps(vector))
assert vector.tolist() == [1, 2, 3], vector
from importlib.metadata import entry_points
offers = [each for each in entry_points(group="torch.backends") if each.name == "cohom"]
assert [each.value for each in offers] == ["cohom_autoload:autoload"], offers
offers[0].load()()  # as PyTorch does; without COHOM_TORCH it is to do nothing
PYTHON
