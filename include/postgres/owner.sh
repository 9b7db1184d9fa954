# shellcheck shell=bash
# A line for each server that belongs to a unit of the service manager: data directory and unit. After instances.sh.

owner() {
  local unit
  unit=$(owner_of "$1")
  [ -z "$unit" ] || printf '%s\t%s\n' "$1" "$unit"
}
all owner
