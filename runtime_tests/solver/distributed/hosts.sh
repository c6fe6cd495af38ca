#!/usr/bin/env bash
# A job on several hosts, which are network namespaces of this machine: each with an
# address and a name of its own, joined by a bridge, no way to anywhere else. MPI's messages
# and those of its launcher go over TCP. See usage below.
#
# Exit status: 0 as it must be; 77 hosts cannot be made here, and the last line says why;
# anything else: failed.
set -euo pipefail
self=$(realpath "${BASH_SOURCE[0]}")

usage() {
  cat <<'USAGE'
usage: hosts.sh run [OPTION…] PROGRAM [ARGUMENT…]
       hosts.sh cut [OPTION…] PROGRAM [ARGUMENT…]

Runs the program under mpirun, a process a host. `run`: it must end with status 0 and
leave nothing. `cut`: one host loses its network in mid-run; the job must end in time with
a message and a status that is not 0, and leave nothing.

  --hosts N         that many [4]
  --cut N           the host to cut off, from 1, where mpirun runs [the last]
  --when TEXT       cut as soon as the job has printed it [at once]
  --after SECONDS   and then some time later [0.5]
  --within SECONDS  how long the job and all its processes may last after the cut [60]
  --mpirun COMMAND  [mpirun]
  --mca "NAME VALUE"  a parameter for mpirun; may be given again

Needs root rights or user namespaces, and ip. ESPALIER_CLUSTER_TIMEOUT is 5 where it is
not set.
USAGE
}

skip() {  # why
  printf 'Several hosts were NOT tested: %s\n' "$*"
  exit 77
}

fail() {  # why
  printf 'FAILED: %s\n' "$*"
  sed 's/^/  out: /' "$directory/out"
  sed 's/^/  err: /' "$directory/err"
  exit 1
}

# What mpirun calls to start its daemon on a host.
if [[ ${1-} == --agent ]]; then
  pid=$(<"$HOSTS_DIRECTORY/$2")
  shift 2
  exec nsenter --target "$pid" --net --uts sh -c "$*"
fi

# In namespaces of our own: with this process, whatever ends it, go its children, the hosts
# and their network.
if [[ ${1-} != --inside ]]; then
  [[ ${1-} == run || ${1-} == cut ]] || { usage >&2; exit 2; }
  command -v ip >/dev/null || skip "ip is not installed (iproute2)"
  enter=(unshare --net --mount --pid --fork --kill-child --propagation unchanged
         --mount-proc)
  (( EUID == 0 )) || enter+=(--user --map-root-user)
  why=$("${enter[@]}" true 2>&1) || skip "namespaces are refused: $why"
  directory=$(mktemp -d)
  trap 'rm -rf "$directory"' EXIT
  mkdir "$directory/tmp"
  touch "$directory/out" "$directory/err"
  export HOSTS_DIRECTORY=$directory
  status=0
  TMPDIR=$directory/tmp setpriv --pdeathsig KILL "${enter[@]}" "$self" --inside "$@" </dev/null || status=$?
  exit "$status"
fi
shift
directory=$HOSTS_DIRECTORY

mode=$1 hosts=4 cut='' when='' after=0.5 within=60 mpirun=mpirun parameters=()
shift
while [[ ${1-} == --* ]]; do
  case $1 in
    --hosts | --cut | --when | --after | --within | --mpirun)
      declare "${1#--}=$2" ;;
    --mca)
      read -ra words <<<"$2"
      parameters+=(--mca "${words[@]}") ;;
    *) usage >&2; exit 2 ;;
  esac
  shift 2
done
(( $# > 0 )) || { usage >&2; exit 2; }
cut=${cut:-$hosts}
if [[ $mode == cut && $("$mpirun" --version) != *") 4."* ]]; then
  skip "only mpirun of Open MPI 4 is known to end in order when a host is lost"
fi

# A host is a process that sleeps in its namespaces.
make_hosts() {
  local host
  ip link add switch type bridge || skip "a bridge is refused"
  ip link set switch up
  for host in $(seq "$hosts"); do
    unshare --net --uts sh -c "hostname host$host && echo ready && exec sleep 1000" \
      >"$directory/ready" &
    printf '%s\n' $! >"$directory/host$host"
    until [[ -s $directory/ready ]]; do sleep 0.02; done
    rm "$directory/ready"
    ip link add "port$host" type veth peer name eth0 netns $!
    ip link set "port$host" master switch up
    nsenter --target $! --net sh -c "ip addr add 10.77.0.$host/24 dev eth0 &&
      ip link set eth0 up && ip link set lo up"
  done
}

# Everything but this script and the hosts; zombies have no command any more.
processes() {
  local process command
  for process in /proc/[0-9]*; do
    process=${process#/proc/}
    [[ $process != "$BASHPID" && $process != "$$" ]] || continue
    ! grep -qx "$process" "$directory"/host* || continue
    command=$({ tr '\0' ' ' <"/proc/$process/cmdline"; } 2>/dev/null) || continue
    [[ -z $command ]] || printf '%s %s\n' "$process" "$command"
  done
}

now() { date +%s%N; }
seconds_since() { printf '%d.%d' $(( ($(now) - $1) / 1000000000 )) \
  $(( ($(now) - $1) / 100000000 % 10 )); }

start_job() {
  local list
  list=$(seq -s , -f 'host%g' "$hosts")
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export ESPALIER_CLUSTER_TIMEOUT=${ESPALIER_CLUSTER_TIMEOUT:-5}
  {
    "$self" --agent host1 exec "$mpirun" --mca plm_rsh_agent "'$self --agent'" \
      --mca btl tcp,self --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 \
      "${parameters[@]}" --map-by ppr:1:node -n "$hosts" -H "$list" "$(printf '%q ' "$@")"
  } >>"$directory/out" 2>>"$directory/err" &  # also what bash says of how it ended
  job=$!
}

# Until the job has printed what was asked for.
await() {
  local tenth
  for (( tenth = 0; tenth < 1200; tenth++ )); do
    kill -0 "$job" 2>/dev/null || fail "the job ended before '$when'"
    ! cat "$directory/out" "$directory/err" | grep -qF -- "$when" || return 0
    sleep 0.1
  done
  fail "no '$when' within two minutes"
}

# Until the job is over, then until nothing is left of it.
all_gone_within() {  # tenths of a second
  local tenth
  for (( tenth = 0; tenth < $1; tenth++ )); do
    [[ -n $(processes) ]] || return 0
    sleep 0.1
  done
  fail "left after $(( $1 / 10 )) seconds: $(processes)"
}

nothing_left() {
  local files
  files=$(find "$directory/tmp" -mindepth 1 ! -type d)
  [[ -z $files ]] || fail "files left: $files"
}

make_hosts
start=$(now)
start_job "$@"
status=0
if [[ $mode == run ]]; then
  wait "$job" || status=$?
  (( status == 0 )) || fail "the job ended with status $status"
  all_gone_within 300
  nothing_left
  cat "$directory/out"
  printf 'Ran on %s hosts in %s s\n' "$hosts" "$(seconds_since "$start")"
  exit
fi

[[ -z $when ]] || await
sleep "$after"
kill -0 "$job" 2>/dev/null || fail "the job ended before a host was cut off"
ip link set "port$cut" down
start=$(now)
all_gone_within $(( within * 10 ))
wait "$job" || status=$?
(( status != 0 )) || fail "the job ended with status 0"
grep -q -e 'no word from rank' -e 'lost communication' "$directory/err" || fail "no message"
nothing_left
grep -m 1 -e 'no word from rank' -e 'lost communication' "$directory/err"
printf 'Host %s cut off: all ended %s s later, status %s\n' "$cut" \
  "$(seconds_since "$start")" "$status"
