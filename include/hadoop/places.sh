# shellcheck shell=bash
# Two lines: the deployment's folder, which is made, and Hadoop's, as this host sees them.
# Given: work (the host's work folder), name (of the deployment), home (Hadoop's folder, also from the work folder).
: "${work:?}" "${name:?}" "${home:?}"

mkdir -p "$work/$name"
cd "$work/$name" || exit
pwd -P
cd ..
if [ -d "$home" ]; then
  cd "$home" || exit
  pwd
else
  echo "no folder $home in $PWD"
fi
