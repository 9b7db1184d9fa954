# shellcheck shell=bash
# All tables of TPC-DS in rows.duckdb, each read as the specification's generator makes it. Within answer.sh.
# Given: generator, the program; scale_factor; tables; and job, the folder of TABLE.read.sql.
: "${generator?}" "${scale_factor?}" "${tables[@]?}" "${job?}"
for table in "${tables[@]}"; do
  "$generator" tpcds dat --scale-factor "$scale_factor" --tables "$table" --quiet --stdout |
    ask -f "$job/$table.read.sql" rows.duckdb
done
