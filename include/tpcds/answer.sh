# shellcheck shell=bash
# DuckDB's answers to queries of TPC-DS over rows made anew, on a host that has the room. Runs in a job's folder, where
# `asked` has a line for each answer that is wanted: its name, whose query is NAME.sql. Answers are kept in the folder
# `answers`, so that only those that are missing are computed; the rows are made for them, and removed.
# Given: duckdb, the program; folder, of the answers.
: "${duckdb?}" "${folder?}"
mkdir -p "$folder/answers"
job=$PWD
cd "$folder" || exit

missing() { while read -r name; do [ -e "answers/$name.duckdb" ] || echo "$name"; done <"$job/asked"; }

ask() { "$duckdb" -bail -no-init "$@" >/dev/null; }

if [ -n "$(missing)" ]; then
  if [ ! -e rows.complete ]; then
    rm -rf rows.duckdb*
    # shellcheck disable=SC1091  # written by the job
    . "$job/rows.sh"
    : >rows.complete
  fi
  for name in $(missing); do  # a file of its own for each, whole or not at all
    rm -f "$name.new"*
    ask -f "$job/$name.sql"
    mv "$name.new" "answers/$name.duckdb"
  done
fi
rm -rf rows.*
