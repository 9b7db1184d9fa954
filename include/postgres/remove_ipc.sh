# shellcheck shell=bash
# A line for each server that loses its shared memory when the last session of its user ends, which may be ours: systemd's
# logins (RemoveIPC) take it from whoever is no system user. A server that was started in a session keeps that open.
# After instances.sh.

loses_memory() {
  local uid system=999
  uid=$(stat --format=%u "/proc/$(head -n 1 "$1/postmaster.pid")")
  [ ! -r /etc/login.defs ] || system=$(awk -v max=$system '$1 == "SYS_UID_MAX" {max = $2} END {print max}' /etc/login.defs)
  [ -n "$(owner_of "$1")" ] && [ "$uid" -gt "$system" ] && [ ! -e "/var/lib/systemd/linger/$(id -un "$uid")" ] || return 0
  [ "$(busctl --system get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager \
    RemoveIPC 2>/dev/null)" != 'b true' ] || echo "$1"
}
all loses_memory
