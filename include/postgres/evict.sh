# shellcheck shell=bash
# Ask the kernel to forget the pages of the database's files, which their owner may do. After instances.sh and
# hosts/forget_pages.sh.
# Given: database_oid (the name of the database's folder).
: "${database_oid:?}"

evict() {
  cd "$1" || return
  sync --file-system .
  find -L "base/$database_oid" global pg_tblspc -type f -size +0 -print0 | forget_pages
}
all evict
