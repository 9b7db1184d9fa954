# shellcheck shell=bash
# A file system for the NameNode, where there is none; one that is there is never touched. After environment.sh and
# daemons.sh.
# Given: name_directory, main_class (the NameNode's).
: "${name_directory:?}" "${main_class:?}"

[ -e "$name_directory/current/VERSION" ] || run "$main_class" -format -nonInteractive >>logs/format.log 2>&1 || {
  tail -n 5 logs/format.log >&2
  exit 1
}
