#!/bin/sh
# enter_host.sh NAMESPACE NAME HOSTS COMMAND...: runs COMMAND as if on a machine of its own.
#
# Its own network, name, System V memory and /dev/shm, so that ranks on two hosts do not find each
# other's memory; HOSTS stands for /etc/hosts, and /sys shows the devices of this network alone.
set -eu
namespace=$1 name=$2 hosts=$3
shift 3
# shellcheck disable=SC2016  # the inner shell expands it
exec nsenter --net="/run/netns/$namespace" unshare --uts --ipc --mount sh -c '
  set -eu
  name=$0 hosts=$1
  shift
  hostname "$name"
  mount --bind "$hosts" /etc/hosts
  mount -t tmpfs -o size=4g tmpfs /dev/shm
  # Limits are read below /sys/fs/cgroup, which a fresh /sys does not have.
  groups=$(dirname "$hosts")/cgroup
  mkdir -p "$groups"
  if [ -d /sys/fs/cgroup ]; then mount --rbind /sys/fs/cgroup "$groups"; fi
  mount -t sysfs sysfs /sys
  if [ -d /sys/fs/cgroup ]; then mount --rbind "$groups" /sys/fs/cgroup; fi
  exec "$@"' "$name" "$hosts" "$@"
