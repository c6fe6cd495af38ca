# Sourced by programs that make a root of a Debian by debootstrap and do something in it,
# as root on a Debian system. They set before:
#
#   self      the program, which is called again in namespaces of its own, with --inside
#   suite     of Debian
#   debian    what it is called
#   root      the root: kept, and used again
#   minutes   time limit for everything
#   subject   of what is said where it cannot be done: "StarPU 1.4 was NOT tested"
#
# ESPALIER_DEBIAN_MIRROR takes the place of the mirror that apt uses here.
#
# Exit status: 0 done; 77 could not be done, and the last line says why; anything else:
# failed.

log=$root.log
# Written empty before anything else in the root, so that no other folder is ever removed,
# and `complete` once all is there.
stamp=$root/.espalier-root

not_tested() {  # why
  printf '%s: %s\n' "$subject" "$*"
  exit 77
}

# A step of making the root; what it prints goes to the log.
making() {  # what command…
  local what=$1
  shift
  printf '%s\n' "$what"
  if ! "$@" >>"$log" 2>&1; then
    tail -n 5 "$log"
    not_tested "$what failed; see $log"
  fi
}

in_root() {
  chroot "$root" env -u TMPDIR HOME=/root \
    LC_ALL=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

install_debootstrap() {
  command -v apt-get >/dev/null || not_tested "debootstrap is not installed"
  making "Installing debootstrap" bash -c \
    'apt-get update -q && apt-get install -q -y --no-install-recommends debootstrap' \
    </dev/null
}

# Of Debian's own release, as apt is configured here; not its updates and not others'.
mirror() {
  if [[ -n ${ESPALIER_DEBIAN_MIRROR-} ]]; then
    printf '%s\n' "$ESPALIER_DEBIAN_MIRROR"
    return
  fi
  local ID='' VERSION_CODENAME=''
  . /etc/os-release
  [[ $ID == debian ]] || return 0
  # shellcheck disable=SC2016 # apt-get expands these
  apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(SITE)' 'Created-By: Packages' |
    awk -v name="$VERSION_CODENAME" '!site && $2 == "main" &&
      ($1 == name || $1 ~ /^(old)*stable$/) { site = $3 } END { print site }'
}

# How this machine reaches the network, which may have changed since the root was made.
use_network() {
  local file
  for file in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
    [[ -e $file ]] && install -D -m 644 "$file" "$root$file"
  done
  apt-config dump |
    grep -E '^Acquire::(https?::|ftp::|Retries|ForceIPv|Check-)' |
    grep -vi 'Auto-\?Detect' >"$root/etc/apt/apt.conf.d/99host" || true
}

make_root() {
  local site proxy
  site=$(mirror)
  [[ -n $site ]] || not_tested "no Debian mirror in apt's configuration;" \
    "name one in ESPALIER_DEBIAN_MIRROR"
  proxy=$(apt-config dump Acquire::http::Proxy |
    sed -n 's/^Acquire::http::Proxy "\(http.*\)";/\1/p')
  [[ -z $proxy || -n ${http_proxy-} ]] || export http_proxy=$proxy
  if [[ -e $stamp ]]; then
    find "$root" -xdev -mindepth 1 ! -path "$stamp" -delete
  elif [[ -e $root ]] && ! rmdir "$root" 2>/dev/null; then
    not_tested "$root exists and was not made by this program"
  fi
  mkdir -p "$root"
  : >"$stamp"
  making "Making a $debian root in $root" \
    debootstrap --variant=minbase "$suite" "$root" "$site" </dev/null
}

mount_system() {
  # Without /sys hwloc sees no cores, and PAPI crashes when StarPU starts again.
  if ! mount -t proc proc "$root/proc" || ! mount --bind -o ro /sys "$root/sys"; then
    not_tested "mount is refused"
  fi
}

# Inside: the root is there afterwards, whole or not, with its systems and the network.
open_root() {
  trap 'exit 130' INT TERM
  if [[ $(cat "$stamp" 2>/dev/null) == complete ]]; then
    printf 'Using the %s root in %s\n' "$debian" "$root"
  else
    make_root
  fi
  mount_system
  use_network
}

# In namespaces of its own: with this process, whatever ends it, go its children and the
# mounts. Ends the program.
enter_root() {  # argument…
  (( EUID == 0 )) || not_tested "making a $debian root needs root rights"
  mkdir -p "$(dirname "$root")"
  : >"$log"
  command -v debootstrap >/dev/null || install_debootstrap
  local bound=(setpriv --pdeathsig KILL) status=0
  local namespaces=(unshare --mount --pid --fork --kill-child)
  "${namespaces[@]}" true 2>>"$log" || not_tested "unshare is refused: $(tail -n 1 "$log")"
  exec 9>"$root.lock"
  flock --timeout $(( minutes * 60 )) 9 || not_tested "$root is in use"
  "${bound[@]}" timeout --foreground --signal=KILL "${minutes}m" \
    "${bound[@]}" "${namespaces[@]}" "$self" --inside "$@" || status=$?
  if (( status == 137 )); then
    [[ $(cat "$stamp" 2>/dev/null) == complete ]] ||
      not_tested "the root was not made within $minutes minutes"
    not_tested "not done after $minutes minutes; what was done is in $log or above"
  fi
  exit "$status"
}
