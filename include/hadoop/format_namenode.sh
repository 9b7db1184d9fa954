# shellcheck shell=bash
# A file system for the NameNode, where there is none; one that is there is never touched, but where its workers are
# machines that were all made anew: nothing of it is left then, and what the NameNode knows of it is put aside. After
# environment.sh and daemons.sh.
# Given: name_directory, main_class (the NameNode's), is_lost (yes or nothing).
: "${name_directory:?}" "${main_class:?}"

if [ "${is_lost:-}" ] && [ -e "$name_directory/current/VERSION" ]; then
  mv -- "$name_directory" "$name_directory.of_machines_that_are_gone.$(date +%Y%m%dT%H%M%S)"
fi

[ -e "$name_directory/current/VERSION" ] || run "$main_class" -format -nonInteractive >>logs/format.log 2>&1 || {
  tail -n 5 logs/format.log >&2
  exit 1
}
