# shellcheck shell=bash
# See that the programs are there, and make the deployment's folders.
# Given: directory (the deployment's folder), data_directories (may be none).
: "${directory:?}"
declare -a data_directories # may be none

for program in java curl; do
  command -v $program >/dev/null || { echo "no $program on PATH: install a JRE (8, 11 or 17) and curl" >&2; exit 1; }
done
cd "$directory" || exit
# Daemons want folders for their web pages, which are empty where Hadoop came as jars.
mkdir -p logs ${data_directories[@]+"${data_directories[@]}"} \
  pages/webapps/{hdfs,datanode,secondary,cluster,node,jobhistory}
# Whether a worker has nothing of any file system yet, as a machine that was made anew.
if [ "${#data_directories[@]}" -gt 0 ] && [ -z "$(find "${data_directories[@]}" -mindepth 1 -print -quit)" ]; then
  echo empty
fi
