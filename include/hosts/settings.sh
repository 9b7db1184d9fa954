# shellcheck shell=bash
# Reads and writes settings of this host; clusterbench sends it over SSH, with calls of its functions at its end.
# After as_root.sh.
# A setting is a kind and a name. `look KIND NAME` prints its value, nothing where it is not known here.
# `change KIND NAME VALUE` notes the value that was there, once, in $before, and sets another; `put_back` undoes all.
# `put_back_of PLATFORM` undoes all that was noted in setup/PLATFORM.before, `put_back_but PLATFORM` all other notes.
# $failed is 1 in the end where something could not be set.
# Only `tee`, `mount` and the service manager run as root, so that sudoers can name each of them exactly.
LC_ALL=C PATH=$PATH:/usr/sbin:/sbin

# A file of the kernel that is not there cannot be made.
put() { [ -e "$1" ] && printf '%s\n' "$2" | as_root tee "$1" >/dev/null; }

# The last line of a file as one line; of `a [b] c` what is chosen.
value_of() { [ ! -r "$1" ] || sed -n 's/.*\[\(.*\)\].*/\1/; s/[[:space:]]\{1,\}/ /g; s/ $//; $p' "$1"; }

sysctl_file() { printf '/proc/sys/%s' "${1//.//}"; }
limits_file=/etc/security/limits.d/90-clusterbench.conf
pages_file=/sys/kernel/mm/transparent_hugepage/enabled

# The whole disk of a device's name, or below a mount point.
disk_file() {
  local device=$1 parent
  if [ "${device#/}" != "$device" ]; then
    device=$(findmnt --noheadings --output SOURCE --mountpoint "$device") || return 1
    device=$(basename "$(readlink -f "${device%%\[*}")")
  fi
  parent=$(lsblk --noheadings --output PKNAME "/dev/$device" 2>/dev/null | head -n 1) || true
  printf '/sys/block/%s/queue/%s' "${parent:-$device}" "$2"
}

# Of the interface that has the address by which this session came.
mtu_file() {
  local here interface
  # shellcheck disable=SC2086  # four words
  here=$(set -- ${SSH_CONNECTION:-}; printf %s "${3:-}")
  interface=$(ip -oneline address 2>/dev/null | awk -v here="$here" '{split($4, a, "/")} a[1] == here {print $2; exit}')
  # On loopback every address is of `lo`, though it lists only the first.
  case $here in 127.*) interface=${interface:-lo} ;; esac
  printf '/sys/class/net/%s/mtu' "${interface:-none}"
}

is_running() {
  if [ -d /run/systemd/system ]; then systemctl is-active --quiet "$1"; else service "$1" status >/dev/null 2>&1; fi
}

# As the daemon tells that keeps the clock; nothing where there is none to ask.
clock_state() {
  local said
  if said=$(chronyc -n tracking 2>/dev/null); then
    case $said in *'Leap status     : Normal'*) echo yes ;; *) echo no ;; esac
  elif said=$(ntpq -pn 2>/dev/null); then
    case $said in *$'\n''*'*) echo yes ;; *) echo no ;; esac
  else
    timedatectl show --property NTPSynchronized --value 2>/dev/null
  fi
}

look() {
  case $1 in
    sysctl) value_of "$(sysctl_file "$2")" ;;
    limit) [ "$(ulimit -S "$(limit_letter "$2")")" = "$(ulimit -H "$(limit_letter "$2")")" ] || printf 'soft '
      ulimit -S "$(limit_letter "$2")" ;;
    transparent_huge_pages) value_of $pages_file ;;
    scheduler) value_of "$(disk_file "$2" scheduler)" ;;
    read_ahead_kib) value_of "$(disk_file "$2" read_ahead_kb)" ;;
    mount_type) findmnt --noheadings --output FSTYPE --mountpoint "$2" ;;
    mount_options) findmnt --noheadings --output OPTIONS --mountpoint "$2" ;;
    xfs_agcount) xfs_info "$2" 2>/dev/null | sed -n 's/.*agcount=\([0-9]*\).*/\1/p' ;;
    mtu) value_of "$(mtu_file)" ;;
    service) if is_running "$2"; then echo running; else echo stopped; fi ;;
    clock_synchronised) clock_state ;;
  esac || true
}

limit_letter() {
  case $1 in
    core) set c ;; data) set d ;; fsize) set f ;; memlock) set l ;; nofile) set n ;;
    nproc) set u ;; rss) set m ;; stack) set s ;;
  esac
  printf '%s' "-$1"
}

# What has to be written to have it as it was: of a limit its line in our file, not what a login has.
former() {
  case $1 in
    limit) ! [ -r $limits_file ] || awk -v name="$2" '$3 == name {print $4}' $limits_file ;;
    *) look "$1" "$2" ;;
  esac
}

change() {
  local was noted=''
  : "${before?the file for what was there}"
  was=$(former "$1" "$2")
  mkdir -p "$(dirname "$before")"
  touch "$before"
  if ! grep -qF "$1"$'\t'"$2"$'\t' "$before"; then
    noted=yes
    printf '%s\t%s\t%s\n' "$1" "$2" "$was" >>"$before"
  fi
  write "$1" "$2" "$3" && return
  echo "$1 $2: could not be set to '$3'" >&2
  failed=1
  # What never changed need not, and often cannot, be put back.
  if [ -n "$noted" ] && [ "$(former "$1" "$2")" = "$was" ]; then sed -i '$d' "$before"; fi
}

write() {
  case $1 in
    sysctl) put "$(sysctl_file "$2")" "$3" ;;
    limit) write_limit "$2" "$3" ;;
    transparent_huge_pages) put $pages_file "$3" ;;
    scheduler) put "$(disk_file "$2" scheduler)" "$3" ;;
    read_ahead_kib) put "$(disk_file "$2" read_ahead_kb)" "$3" ;;
    mount_options) as_root mount -o "remount,$(opposites "$3")$3" "$2" ;;
    mtu) put "$(mtu_file)" "$3" ;;
    service) write_service "$2" "$([ "$3" = running ] && echo start || echo stop)" ;;
  esac
}

# All that a file system was mounted with begins with rw or ro. An option like noatime that came later stays unless its
# opposite is named.
opposites() {
  local option
  case $1 in rw,* | ro,*) ;; *) return 0 ;; esac
  for option in atime diratime dev exec suid; do
    case ,$1, in *",no$option,"*) ;; *) printf '%s,' $option ;; esac
  done
}

# One line a limit, for this login only; an empty value takes the line out.
write_limit() {
  [ -d "$(dirname $limits_file)" ] || return 1
  { ! [ -r $limits_file ] || awk -v name="$1" '$3 != name' $limits_file
    [ -z "$2" ] || printf '%s - %s %s\n' "$(id -un)" "$1" "$2"; } >"$before.limits"
  as_root tee $limits_file <"$before.limits" >/dev/null
  rm -f "$before.limits"
}

write_service() {
  if [ -d /run/systemd/system ]; then as_root systemctl "$2" "$1"; else as_root service "$1" "$2" >/dev/null; fi
}

# In the opposite order; what cannot be put back stays noted.
put_back() {
  [ -s "$before" ] || { rm -f "$before"; return 0; }
  local kind name value
  : >"$before.left"
  while IFS=$'\t' read -r kind name value; do
    if write "$kind" "$name" "$value" </dev/null; then
      printf '%s\t%s\t%s\n' "$kind" "$name" "$value"
    else
      printf '%s\t%s\t%s\n' "$kind" "$name" "$value" >>"$before.left"
      echo "$kind $name: could not be put back to '$value'" >&2
      failed=1
    fi
  done < <(tac "$before")
  tac "$before.left" >"$before"
  rm -f "$before.left"
  [ -s "$before" ] || rm -f "$before"
}

put_back_of() {
  before=setup/$1.before
  [ ! -e "$before" ] || put_back
}

put_back_but() {
  for before in setup/*.before; do
    [ ! -e "$before" ] || [ "$before" = "setup/$1.before" ] || put_back
  done
}

# shellcheck disable=SC2034  # read by what clusterbench adds to this
failed=0
