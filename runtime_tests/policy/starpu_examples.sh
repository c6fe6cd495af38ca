#!/usr/bin/env bash
# Compares the outcomes of StarPU's example programs under lws with those under espalier.
#
#   starpu_examples.sh [options] LIBRARY [FOLDER]
#
# LIBRARY is the libespalier.so to load, FOLDER holds the programs; without it, those of
# Debian's package starpu-examples. Each program runs under lws, under espalier, and under
# espalier with a bound that suffices, each time in a folder and with performance models
# of its own.
#
#   --list          print the programs and stop
#   --only PATTERN  only programs whose name matches the extended regular expression
#   --mpi           the programs in FOLDER/../mpi instead, on two ranks
#   --memory SIZE   the bound (8GiB)
#   --limit N       seconds that a run may take (60)
#   --jobs N        programs at a time (2)
#   --json FILE     write all outcomes there
#   --logs FOLDER   keep the output of the runs whose outcome differs
#
# A run that ends otherwise than with 0 or 77 is repeated, up to three runs in all; the
# best counts. Exit status: 0 when every program that passes under lws (0, or 77 for
# "skipped") ends in the same way under espalier; 1 otherwise; 2 when nothing could be
# compared; 77 when there are no programs to run.
set -euo pipefail

die() { echo "starpu_examples: $1" >&2; exit "${2:-2}"; }

list=no only=. mpi=no json='' logs=''
export memory=8GiB limit=60
jobs=2
while [[ ${1:-} == --* ]]; do
  case $1 in
    --list) list=yes ;;
    --mpi) mpi=yes ;;
    --only | --memory | --limit | --jobs | --json | --logs)
      [[ $# -ge 2 ]] || die "$1 needs a value"
      printf -v "${1#--}" '%s' "$2"
      shift ;;
    *) die "unknown option $1" ;;
  esac
  shift
done
[[ $# -ge 1 && $# -le 2 ]] || die "usage: starpu_examples.sh [options] LIBRARY [FOLDER]"
library=$(realpath -e "$1") || die "no library $1"
folder=${2:-$(dpkg -L starpu-examples 2>/dev/null | grep -m1 '/starpu/examples$' || true)}
[[ -d $folder ]] || die "no example programs: install starpu-examples" 77
probe=$folder/hello_world
[[ $mpi == no ]] || folder=$(dirname "$folder")/mpi

# Scripts among the programs draw curves of the programs' timings; nothing to compare.
mapfile -t programs < <(cd "$folder" && find . -type f -perm -u+x \
  ! -name '*.sh' ! -name '*.gp' -printf '%P\n' | grep -E -- "$only" | LC_ALL=C sort)
[[ ${#programs[@]} -gt 0 ]] || die "no programs in $folder match $only" 77
if [[ $list == yes ]]; then printf '%s\n' "${programs[@]}"; exit; fi

launcher=''
if [[ $mpi == yes ]]; then
  command -v mpirun >/dev/null || die "no mpirun" 77
  launcher='mpirun -n 2 --oversubscribe --mca mpi_yield_when_idle 1'
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export folder launcher work logs
export STARPU_NCPU=2 STARPU_NCUDA=0 STARPU_NOPENCL=0 OPENBLAS_NUM_THREADS=1
export STARPU_WATCHDOG_TIMEOUT=20000000 STARPU_WATCHDOG_CRASH=1
ulimit -c 0
unset STARPU_SCHED STARPU_SCHED_LIB LD_PRELOAD ESPALIER_MEMORY

# How this StarPU is given the library, found out by asking for the list of policies.
[[ -x $probe ]] || probe=$folder/${programs[0]}
shows() { timeout "$limit" env "$1=$library" STARPU_SCHED=help STARPU_HOME="$work" \
  "$probe" 2>&1 </dev/null | grep '^espalier' >/dev/null; }
if shows STARPU_SCHED_LIB; then load=STARPU_SCHED_LIB=$library
elif shows LD_PRELOAD; then load=LD_PRELOAD=$library
else die "StarPU does not list espalier with $library"; fi
export load

# One run. Prints its exit status.
run_once() {  # VARIANT PROGRAM FOLDER
  local variables=(STARPU_HOME="$3/home")
  case $1 in
    lws) variables+=(STARPU_SCHED=lws) ;;
    *) variables+=("$load" STARPU_SCHED=espalier ESPALIER_REPORT="$3/$1.json") ;;
  esac
  [[ $1 != bounded ]] || variables+=(ESPALIER_MEMORY="$memory")
  # These test StarPU-MPI's cache, which a bound turns off.
  [[ -z $launcher || $2 != cache* ]] || variables+=(STARPU_MPI_CACHE=1)
  local status=0
  mkdir -p "$3/run"
  # The launcher is to be split into words; bash is not to tell of each abort.
  {
    (cd "$3/run" && timeout -k 5 "$limit" env "${variables[@]}" $launcher "$folder/$2" \
      </dev/null >"$3/$1.out" 2>&1) || status=$?
  } 2>/dev/null
  echo "$status"
}

passes() { [[ $1 == 0 || $1 == 77 ]]; }

# "STATUS RUNS" of the best of up to three runs.
outcome() {  # VARIANT PROGRAM FOLDER MOST_RUNS
  local runs=0 status
  while
    runs=$((runs + 1))
    status=$(run_once "$1" "$2" "$3")
    ! passes "$status" && ((runs < $4))
  do :; done
  echo "$status $runs"
}

# All variants of one program. Prints "PROGRAM lws R espalier R bounded R REPORTED":
# statuses, runs, and whether the policy wrote its report.
compare_one() {  # PROGRAM
  local here=$work/${1//\//_} reported=no most=3 line lws variant status runs
  mkdir -p "$here/home"
  cp -r "$work/warm/." "$here/home" 2>/dev/null || true
  lws=$(outcome lws "$1" "$here" 3)
  line="$1 $lws"
  passes "${lws% *}" || most=1
  for variant in espalier bounded; do
    read -r status runs < <(outcome $variant "$1" "$here" $most)
    line+=" $status $runs"
    if [[ -n $logs && ($status != "${lws% *}" || $runs != 1) ]]; then
      mkdir -p "$logs"
      cp "$here/$variant.out" "$logs/${1//\//_}.$variant"
    fi
    # Ranks add their number to the name.
    ! compgen -G "$here/$variant*.json" >/dev/null || reported=yes
  done
  rm -rf "$here"
  echo "$line $reported"
}
export -f run_once passes outcome compare_one

# Buses are measured once.
mkdir -p "$work/warm"
timeout "$limit" env STARPU_HOME="$work/warm" STARPU_SCHED=lws "$probe" </dev/null \
  >/dev/null 2>&1 || true

start=$SECONDS
printf '%s\n' "${programs[@]}" |
  xargs -P "$jobs" -I{} bash -c 'compare_one "$1"' _ {} | LC_ALL=C sort >"$work/results"

word() {  # STATUS RUNS
  local text
  case $1 in
    0) text=passed ;; 77) text=skipped ;; 124) text='timed out' ;; 127) text='not started' ;;
    13[0-9] | 14[0-9]) text="signal $(($1 - 128))" ;;
    *) text="status $1" ;;
  esac
  (($2 == 1)) || text+=" ($2 runs)"
  echo "$text"
}

total=0 same=0 failing=0 different=0 flaky=0 reports=0 rows=()
while read -r program l lr e er b br reported; do
  total=$((total + 1))
  [[ $reported == no ]] || reports=$((reports + 1))
  note=''
  if ! passes "$l"; then failing=$((failing + 1)) note='fails under lws'
  elif [[ $e != "$l" || $b != "$l" ]]; then different=$((different + 1)) note=DIFFERS
  else
    same=$((same + 1))
    [[ $lr$er$br == 111 ]] || { flaky=$((flaky + 1)); note=flaky; }
  fi
  [[ -z $note ]] || rows+=("$(printf '%-30s %-17s %-17s %-17s %s' "$program" \
    "$(word "$l" "$lr")" "$(word "$e" "$er")" "$(word "$b" "$br")" "$note")")
done <"$work/results"

[[ ${#rows[@]} -eq 0 ]] || {
  printf '%-30s %-17s %-17s %-17s\n' program lws espalier "espalier, $memory"
  printf '%s\n' "${rows[@]}"
}
echo "$total programs: $same with the same outcome ($flaky flaky), $failing fail under" \
  "lws, $different differ; espalier reported in $reports; $((SECONDS - start)) s"

if [[ -n $json ]]; then
  {
    printf '{"library": "%s", "memory": "%s", "programs": [' "$library" "$memory"
    awk '{ printf "%s\n  {\"program\": \"%s\", \"lws\": %d, \"espalier\": %d, " \
           "\"bounded\": %d, \"runs\": [%d, %d, %d], \"reported\": %s}",
           (NR > 1 ? "," : ""), $1, $2, $4, $6, $3, $5, $7,
           ($8 == "yes" ? "true" : "false") }' "$work/results"
    printf '\n]}\n'
  } >"$json"
fi
[[ $total -eq ${#programs[@]} ]] || die "only $total of ${#programs[@]} programs were run"
((different == 0))
