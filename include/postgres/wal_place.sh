# shellcheck shell=bash
# Where each server's write-ahead log lies, beside its data, through symbolic links. After instances.sh.
# A line an instance, with tabs between: its data directory; device of the log and of the data ("8:1"); the disks below
# either (a blank between them; none where the kernel names none, as for NFS, btrfs, ZFS or an overlay); how many
# tablespaces lie elsewhere.

# device_of PATH: "major:minor" of its file system
device_of() {
  local number
  number=$(stat -L -c %d -- "$1") || return
  echo "$(((number >> 8) & 0xfff)):$(((number & 0xff) | ((number >> 12) & 0xfff00)))"
}

# disks_of DEVICE: what it is made of: of a partition its disk, of a volume all of its parts, of a file that is a device
# (loop) the disks that the file is on
disks_of() {
  local at part file found=no
  at=$(readlink -e "/sys/dev/block/$1") || return 0
  [ ! -e "$at/partition" ] || at=${at%/*}
  if file=$(cat "$at/loop/backing_file" 2>/dev/null); then
    [ ! -e "$file" ] || disks_of "$(device_of "$file")"
    return 0
  fi
  for part in "$at"/slaves/*/dev; do
    [ -e "$part" ] || continue
    found=yes
    disks_of "$(<"$part")"
  done
  [ $found = yes ] || echo "${at##*/}"
}

places() {
  local log=$1/pg_wal data=$1/base elsewhere=0 link log_device data_device
  [ -e "$log" ] || log=$1/pg_xlog # before version 10
  for link in "$1"/pg_tblspc/*; do [ ! -e "$link" ] || elsewhere=$((elsewhere + 1)); done
  log_device=$(device_of "$log") && data_device=$(device_of "$data") || return 0
  printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$log_device" "$data_device" \
    "$(disks_of "$log_device" | sort -u | tr '\n' ' ')" "$(disks_of "$data_device" | sort -u | tr '\n' ' ')" $elsewhere
}
all places
