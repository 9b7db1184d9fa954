# shellcheck shell=bash
# All tables of TPC-DS in rows.duckdb, by DuckDB's generator. Within answer.sh.
# Given: job, the folder of rows.sql.
: "${job?}"
ask -f "$job/rows.sql" rows.duckdb
