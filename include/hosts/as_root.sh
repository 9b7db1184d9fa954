# shellcheck shell=bash
# A function for a shell: a command as root, which sudo may be asked for without a password.
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }
