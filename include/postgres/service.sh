# shellcheck shell=bash
# Start or stop the servers by the service manager that they belong to. Root is needed for that alone. After instances.sh
# and as_root.sh.
# Given: service, the unit's name; action: start; stop; or end, which stops what was killed or is frozen, too.
# Prints what people should know of it.
: "${service:?}" "${action:?}" "${data_directories:?}"

by_manager() { as_root /usr/bin/systemctl "$1" "$service" >&2 </dev/null; }
# told PROPERTY: of the unit; nothing where an ordinary user cannot ask.
told() { /usr/bin/systemctl show --property="$1" --value "$service" 2>/dev/null </dev/null || true; }

# A unit may have several names. Of servers that belong to another one systemctl would stop nothing, and say nothing.
belongs() {
  local unit owner
  alive "$1" || return 0
  unit=$(told Id) owner=$(owner_of "$1")
  [ "$owner" != "${unit:-${service%.service}.service}" ] || return 0
  echo "$1: its server belongs to ${owner:-no unit}, not to $service; correct 'service' in the platform's file" >&2
  return 1
}

ended() {
  ! alive "$1" || { echo "$1: still has a server after 'systemctl stop $service'" >&2; return 1; }
  wait_until_gone "$1" 5 processes processes_of
}

# What its data say of it; else the file that it removes as it stops, which a manager may remove, too.
stopped_by_itself() {
  [[ $running == *" $1 "* ]] || return 0
  case $(LC_ALL=C "${program:?}/pg_controldata" "$1" 2>/dev/null | grep 'cluster state:') in
    *'shut down'*) return 0 ;;
    '') [ ! -e "$1/postmaster.pid" ] ;;
    *) return 1 ;;
  esac
}

# Until it is told to go on, a frozen server does not hear that it is to stop, and the manager would wait for its time.
wake() {
  local pids
  mapfile -t pids < <(processes_of "$1")
  [ ${#pids[@]} -eq 0 ] || kill -CONT "${pids[@]}" 2>/dev/null || true
}

# A manager may refuse to start a unit again so soon. Nobody else can end that without leave but time.
start() {
  local since=$SECONDS
  until by_manager start; do
    [ "$(told Result)" = start-limit-hit ] && [ $((SECONDS - since)) -lt 600 ] || return 1
    sleep 5
  done
  [ $((SECONDS - since)) -lt 5 ] || echo "$service was started too often (at most $(told StartLimitBurst) times in \
$(told StartLimitIntervalUSec)); that limit was waited for, $((SECONDS - since)) s"
}

# Not every kind of unit waits for that.
answers() {
  local since=$SECONDS seen=$SECONDS
  while [ $((SECONDS - since)) -lt 3500 ] && [ $((SECONDS - seen)) -lt 10 ]; do
    ! alive "$1" || seen=$SECONDS
    ! accepts "$1" || return 0
    sleep 0.1
  done
  echo "$1: its server does not take sessions after 'systemctl start $service'" >&2
  return 1
}

case $action in
  start) start; all answers ;;
  end) all wake; by_manager stop; all ended ;;
  stop)
    all belongs
    running=' '
    for each in "${data_directories[@]}"; do ! alive "$each" || running+="$each "; done
    by_manager stop
    all ended
    if ! all stopped_by_itself; then
      limit=$(told TimeoutStopUSec)
      start; all answers
      echo "$service: its server was killed, because it had not stopped within the unit's TimeoutStopSec${limit:+ \
($limit)}; it was started again, and has recovered. Give the unit more time (systemctl edit $service)" >&2
      exit 1
    fi
    ;;
esac
