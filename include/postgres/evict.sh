# shellcheck shell=bash
# Ask the kernel to forget the database's files one by one, which their owner may do. After instances.sh.
# Given: database_oid (the name of the database's folder).
: "${database_oid:?}"

evict() {
  cd "$1" || return
  sync --file-system .
  find -L "base/$database_oid" global pg_tblspc -type f -size +0 -print0 |
    xargs -0 -n 1 -I '{}' dd if='{}' iflag=nocache count=0 status=none
}
all evict
