# shellcheck shell=bash
# All tables of TPC-DS in rows.duckdb, by DuckDB's generator.
# Given: rows, the statements; and from answer.sh: duckdb, the program; job, the folder of settings.sql.
: "${rows?}" "${duckdb?}" "${job?}"
"$duckdb" -bail -init "$job/settings.sql" -c "$rows" rows.duckdb >/dev/null
