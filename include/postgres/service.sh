# shellcheck shell=bash
# Start or stop the server by the service manager that it belongs to. Root is needed for that alone.
# Given: service, the unit's name; action, start or stop.
: "${service:?}" "${action:?}"

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

as_root /usr/bin/systemctl "$action" "$service" >&2 </dev/null
