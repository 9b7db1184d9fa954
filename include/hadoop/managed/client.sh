# shellcheck shell=bash
# Two lines: the platform's folder, which is made, and Hadoop's, as this host sees them. Then the site files that the
# client has, each after a line with its name. Given: work (the host's work folder), name (of the folder), home (Hadoop's,
# also from the work folder), configuration (a folder), sites (names of files).
: "${work:?}" "${name:?}" "${home:?}" "${configuration:?}" "${sites[@]?}"

mkdir -p "$work/$name"
(cd "$work/$name" && pwd -P)
cd "$work" || exit
[ -d "$home" ] || { echo "no folder $home: where is the client's Hadoop ('hadoop.home')?" >&2; exit 1; }
(cd "$home" && pwd)
[ -r "$configuration/core-site.xml" ] || {
  echo "no core-site.xml in $configuration that $(id -un) may read: where is the client's configuration" \
    "('hadoop.managed.configuration')?" >&2
  exit 1
}
for site in "${sites[@]}"; do
  [ -r "$configuration/$site" ] || continue
  printf '\n@@ %s\n' "$site"
  cat "$configuration/$site"
done
