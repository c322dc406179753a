# shellcheck shell=bash
# shellcheck disable=SC2154  # rows.sh sets `results`
# The aggregator of a job whose first component is its node. Sourced behind rows.sh.

# expect_node_for_aggregator: sets the defaults of what follows, and refuses other jobs.
expect_node_for_aggregator() {
  : "${AGGREGATOR_HOST:=$(hostname)}"  # by which compute nodes know the aggregator's
  : "${AGGREGATOR_PORT:=47000}"
  : "${AGGREGATOR_FLAGS:=}"            # more flags of cohom-aggregator
  : "${AGGREGATOR_AUTH:=token}"  # token: one that this job draws; munge: the one that Slurm uses
  [[ ${SLURM_HET_SIZE:-1} == 2 && $SLURM_JOB_NUM_NODES == 1 ]] ||
    refuse "the job should be one node for the aggregator and, behind a colon, the compute nodes"
  [[ $SITE_LAUNCHERS == srun ]] ||
    refuse "SITE_LAUNCHERS: '$SITE_LAUNCHERS' should be srun; mpirun does not know heterogeneous" \
      "jobs"
}

# start_aggregator PROGRAM: returns when it answers. The job's other programs find it, and prove
# that they belong to the job, by COHOM_AGGREGATOR and what goes with it.
start_aggregator() {
  local socket flags i
  export COHOM_AGGREGATOR_AUTH=$AGGREGATOR_AUTH COHOM_AGGREGATOR=$AGGREGATOR_HOST:$AGGREGATOR_PORT
  if [[ $AGGREGATOR_AUTH == munge ]]; then
    socket=$(scontrol show config | sed -n 's/^AuthInfo *= .*socket=\([^,]*\).*/\1/p')
    # Empty: libmunge's own.
    export COHOM_MUNGE_SOCKET=${COHOM_MUNGE_SOCKET-$socket}
  else
    COHOM_AGGREGATOR_TOKEN=$(od -An -N16 -tx8 /dev/urandom | tr -d ' ')
    export COHOM_AGGREGATOR_TOKEN
  fi
  read -ra flags <<<"$AGGREGATOR_FLAGS"
  # 0.0.0.0: all devices of the node.
  srun --het-group=0 --ntasks=1 --overlap --mpi=none \
    "$1" --listen "0.0.0.0:$AGGREGATOR_PORT" "${flags[@]}" >"$results/aggregator.log" 2>&1 &
  serving=$!
  for ((i = 0; ; ++i)); do
    if "$1" status >/dev/null 2>&1; then break; fi
    if ((i == 120)); then
      refuse "no aggregator at $COHOM_AGGREGATOR: $(tail -n 3 "$results/aggregator.log")"
    fi
    sleep 0.5
  done
}

stop_aggregator() {
  kill "$serving" || true
  wait "$serving" || true
}
