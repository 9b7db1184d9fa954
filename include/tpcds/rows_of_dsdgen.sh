# shellcheck shell=bash
# All tables of TPC-DS in rows.duckdb, each read as the specification's generator makes it.
# Given: generator, the program; scale_factor; tables; and from answer.sh: duckdb; job, the folder of TABLE.read.sql.
: "${generator?}" "${scale_factor?}" "${tables[@]?}" "${duckdb?}" "${job?}"
for table in "${tables[@]}"; do
  "$generator" tpcds dat --scale-factor "$scale_factor" --tables "$table" --quiet --stdout |
    "$duckdb" -bail -init "$job/settings.sql" -f "$job/$table.read.sql" rows.duckdb >/dev/null
done
