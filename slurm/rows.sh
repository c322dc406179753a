# shellcheck shell=bash
# What the job files share. A job is a list of rows, each a program that writes one JSON file,
# <results>/<job>/<row>.json. A row that has its results is not run again, so a job that was ended
# goes on where it was when it is submitted once more. A row that failed is recorded as failed, in
# the same place, and tried again then.

# shellcheck source=scripts/place_file.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/place_file.sh"

failed_schema=cohom-failed/1
rows_run=0 rows_failed=0 rows_skipped=0

refuse() {
  echo "${job:-job}: $*" >&2
  exit 2
}

# begin_job ROOT: reads the site's values and goes to the checkout.
begin_job() {
  job=$SLURM_JOB_NAME
  # Before going there: a relative SITE_ENV is meant from where the job was submitted, as for
  # submit.
  # shellcheck source=slurm/site.env
  . "${SITE_ENV:-$1/slurm/site.env}"
  [[ $SITE_ROW_SECONDS =~ ^[1-9][0-9]*$ ]] ||
    refuse "SITE_ROW_SECONDS: '$SITE_ROW_SECONDS' should be a whole number of seconds like 900"
  cd "$1" || exit 2
  if [[ -n $SITE_MODULES ]]; then
    command -v module >/dev/null ||
      refuse "SITE_MODULES is set but this shell has no module command; source it in the site's file"
    set +u  # of modules one cannot expect it
    # shellcheck disable=SC2086  # several words
    module load $SITE_MODULES
    set -u
  fi
  results=$(realpath --canonicalize-missing "$SITE_RESULTS")/$job
  row_output=$results/row.running
  programs=$(realpath --canonicalize-missing "$SITE_BUILD")/bin
  mkdir -p "$results"
  # A row that ends because the job does has not failed.
  trap stop TERM
  echo "$job: job $SLURM_JOB_ID on $SLURM_JOB_NODELIST, results in $results"
}

stop() {
  echo "$job: ended after $rows_run rows; submit it again to go on"
  exit 143
}

# need_program NAME: sets `program`.
need_program() {
  program=$programs/$1
  [[ -x $program ]] || refuse "$program is not there; build it with: scripts/build"
}

# row_name DEFINITION WORD...: a name for a file. The words say what the row is, and a digest of all
# tells it from every other.
row_name() {
  local definition="$*" digest readable
  digest=$(sha256sum <<<"$definition")
  readable=$(tr -cs 'A-Za-z0-9.,=+_-' - <<<"${*:2}")
  echo "${readable:0:100}${digest:0:8}"
}

# run_row NAME CHECK TITLE COMMAND...: runs COMMAND..., which should write $row_output, and keeps
# that if CHECK, a function, finds no fault in it. TITLE is how the record of a failure calls the
# command.
run_row() {
  local name=$1 check=$2 title=$3 status=0 fault begin
  shift 3
  local file=$results/$name.json log=$results/$name.log
  if [[ -s $file ]] && ! grep -qF "\"$failed_schema\"" "$file"; then
    rows_skipped=$((rows_skipped + 1))
    return
  fi
  job_goes_on || stop
  rm -f "$row_output"*
  begin=$SECONDS
  timeout --kill-after=20 "$SITE_ROW_SECONDS" "$@" >"$log" 2>&1 </dev/null || status=$?
  fault=$(fault_of "$status" "$check" "$log" $((SECONDS - begin)))
  if [[ -n $fault ]]; then job_goes_on || stop; fi  # its own fault?
  rows_run=$((rows_run + 1))
  if [[ -z $fault ]]; then
    place_file "$row_output" "$file"
    echo "$job: $name"
  else
    rows_failed=$((rows_failed + 1))
    record_failure "$file" "$title" "$fault" "$status"
    echo "$job: $name failed: $fault"
  fi
}

# Nodes get to know at different times that a job ends; the controller knows first. When its time is
# over a job still counts as running for up to half a minute, in which nothing can be started.
job_goes_on() {
  local state end
  read -r state end <<<"$(squeue --noheader --jobs "$SLURM_JOB_ID" --format "%T %e")"
  if [[ -z $state ]]; then return 0; fi  # no answer: the controller is busy
  if [[ $state != RUNNING ]]; then return 1; fi
  end=$(date --date "$end" +%s 2>/dev/null) || return 0  # a job without a limit
  (($(date +%s) + 5 < end))
}

# fault_of STATUS CHECK LOG SECONDS: what is wrong with the row that has just ended; nothing if it
# is right.
fault_of() {
  local said
  if (($1 != 0 && $4 >= SITE_ROW_SECONDS)); then
    echo "ended after SITE_ROW_SECONDS=$SITE_ROW_SECONDS"
  elif (($1 != 0)); then
    # What the program itself said, if it said something.
    said=$(grep -E '^(cohom-bench|codec_bench): ' "$3" | head -n 3) ||
      said=$(grep -v '^[[:space:]]*$' "$3" | tail -n 5)
    echo "${said:-exit status $1}"
  elif [[ ! -s $row_output ]]; then
    echo "wrote no results"
  else
    "$2" "$row_output"
  fi
}

# json_text TEXT: as a JSON string.
json_text() {
  local text
  text=$(LC_ALL=C tr -cd '\n\t\40-\176' <<<"$1")
  text=${text//\\/\\\\}
  text=${text//\"/\\\"}
  text=${text//$'\t'/ }
  printf '"%s"' "${text//$'\n'/\\n}"
}

# record_failure FILE TITLE MESSAGE STATUS
record_failure() {
  cat >"$row_output" <<JSON
{
 "schema": "$failed_schema",
 "host": $(json_text "$(hostname)"),
 "nodes": $(json_text "$SLURM_JOB_NODELIST"),
 "job": $(json_text "$job"),
 "job_id": $(json_text "$SLURM_JOB_ID"),
 "date": "$(date --utc +%FT%TZ)",
 "command": $(json_text "$2"),
 "failed": {"message": $(json_text "$3"), "exit_status": $4}
}
JSON
  place_file "$row_output" "$1"
}

# Says how many rows there are; exit status 1 if any failed.
end_job() {
  if ((rows_run + rows_skipped == 0)); then refuse "no rows were asked for"; fi
  echo "$job: $rows_run rows run, $rows_failed of them failed, $rows_skipped were there already"
  ((rows_failed == 0))
}
