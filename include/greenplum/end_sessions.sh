# shellcheck shell=bash
# End the sessions on segments whose coordinator is gone. After postgres/instances.sh.

# A coordinator's, on segments: "postgres:  6102, gpadmin bench 127.0.0.1(47398) con183 seg1 cmd1128 … UPDATE".
sessions() {
  local pid words
  for pid in $(processes_of "$1"); do
    words=$(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null) || continue
    ! [[ $words =~ ' con'[0-9]+' seg'[0-9] ]] || echo "$pid"
  done
}

end_sessions() {
  local pids
  mapfile -t pids < <(sessions "$1")
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait_until_gone "$1" 10 sessions sessions
}
all end_sessions
