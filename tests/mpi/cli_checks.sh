# shellcheck shell=sh
# What tests of commands under mpirun share. Sourced with `program`, the command, and `launcher`,
# its words up to where the number of ranks stands (mpirun -n), set; goes to a folder of its own.

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0
# After a rank that fails mpirun ends the others, and gives them a second that none here needs.
export OMPI_MCA_odls_base_sigkill_timeout=0

fail() {
  echo "FAILED: $*" >&2
  for file in out err; do
    [ -s "$file" ] && sed "s/^/  $file: /" "$file" >&2
  done
  failures=$((failures + 1))
}

# expect STATUS FLAG...: what it prints is in the files out and err.
expect() {
  wanted=$1
  shift
  # shellcheck disable=SC2086,SC2154 # several words, or none
  timeout 120 $run "$program" "$@" >out 2>err
  status=$?
  [ "$status" -eq "$wanted" ] || fail "$*: exit status $status, not $wanted"
}
# shellcheck disable=SC2154
run="$launcher 3"

# expect_refusal TEXT FLAG...: exit status 2, nothing measured, and one message, from rank 0, that
# contains TEXT. (mpirun adds its own remarks about the exit status.)
expect_refusal() {
  text=$1
  shift
  expect 2 "$@"
  [ "$(grep -c "^$(basename "$program"): " err)" -eq 1 ] || fail "$*: not exactly one message"
  grep -qF -e "$text" err || fail "$*: the message should contain: $text"
  grep -q MPI_ABORT err && fail "$*: ended by MPI_Abort"
  [ -s out ] && fail "$*: standard output is not empty"
}

# refuses TEXT FLAG...: the same of one process, without a launcher, in a third of the time: for
# what no rank but the first looks at.
refuses() {
  run=
  expect_refusal "$@"
  run="$launcher 3"
}

# The script's last words.
finish() {
  [ "$failures" -eq 0 ] || exit 1
  echo "all as it should be"
}
