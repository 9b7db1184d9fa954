# shellcheck shell=bash
# Load files of tables that DuckDB has; runs on the ETL host, in the folder of the files, after the function `make`.
# First the rows, by one process of DuckDB, whose generators are one thread each; then the files, several at once. A try that
# was cut off goes on: rows are there whole (rows.duckdb) or made anew, and so is every file.
# Given: duckdb, the program; sql, the folder of generate.sql, parts.sql and objects.sql, which holds what is secret;
# columns, what DuckDB is to select of a table.
: "${duckdb?}" "${sql?}" "${columns?}"

write() {  # one file: its name, its table, its first and its last row
  make "$1" "$duckdb" -bail -readonly rows.duckdb -c "SET enable_progress_bar = false; COPY (SELECT $columns FROM $2 WHERE rowid BETWEEN $3 AND $4) TO '/dev/stdout'
    (FORMAT csv, HEADER false, DELIMITER '|', NULLSTR '', QUOTE '', ESCAPE '')"
}
export -f make write
export duckdb columns

ask() { "$duckdb" -bail -readonly -noheader -list -separator ' ' rows.duckdb -c "$1"; }

# What is not as it was made is forgotten, and so made anew.
look() {
  local name sum
  for name; do
    if [ -e "$name.facts" ]; then
      read -r _ _ sum <"$name.facts"
      [ "$(sha256sum <"$name" | cut -d ' ' -f 1)" = "$sum" ] || rm -f "$name" "$name.facts"
    fi
  done
}
export -f look

complete() {
  [ -e parts ] || return 1
  cut -d ' ' -f 1 parts | xargs --max-procs "$(nproc)" --max-args=4 bash -c 'look "$@"' look
  while read -r name _; do [ -e "$name.facts" ] || return 1; done <parts
}

if ! complete; then
  if [ ! -e rows.duckdb ]; then
    rm -rf new.duckdb*
    cat "$sql"/{objects,generate}.sql | "$duckdb" -bail new.duckdb >/dev/null
    mv new.duckdb rows.duckdb
  fi
  ask "SELECT * FROM made" >made
  ask "$(cat "$sql/parts.sql")" >parts.new
  xargs --max-procs "$(nproc)" --max-lines=1 bash -euo pipefail -c 'write "$@"' write <parts.new
  mv parts.new parts
  rm -f rows.duckdb
fi
