# shellcheck shell=bash
# Chunks of TPC-DS's tables by the specification's generator, as many at once as processors are there. Runs in a job's
# folder, where `chunks` has a line for each (name, table, number, of how many), and TABLE.sql counts one of a table.
# Then `facts` says of each its name, rows, checksum and bytes.
# Given: generator and duckdb, the programs; scale_factor; folder, of the files.
: "${generator?}" "${duckdb?}" "${scale_factor?}" "${folder?}"

chunk() {  # without the separator that ends every line, which loaders take for one more column
  "$generator" tpcds dat --scale-factor "$scale_factor" --tables "$1" --part "$2" --parts "$3" \
    --num-threads 1 --quiet --stdout | LC_ALL=C awk '{ print substr($0, 1, length($0) - 1) }'
}

write() {  # counted as it is written: it is read once only
  local counted
  counted=$(chunk "$2" "$3" "$4" | tee "$folder/$1" |
    "$duckdb" -bail -no-init -noheader -list -separator ' ' -f "$2.sql")
  echo "$1 $counted $(stat --format=%s "$folder/$1")" >"$1.facts"
}

export -f chunk write
export generator duckdb scale_factor folder
xargs --max-procs "$(nproc)" --max-lines=1 bash -euo pipefail -c 'write "$@"' write <chunks
cat ./*.facts >facts
