# shellcheck shell=bash
# What the cluster's own utilities want to know, on the coordinator's host. After postgres/instances.sh.
# Given: data_directory and port of the coordinator.
: "${program:?}" "${data_directory:?}" "${port:?}"

export MASTER_DATA_DIRECTORY=$data_directory COORDINATOR_DATA_DIRECTORY=$data_directory PGPORT=$port
export PATH="$program:$PATH"
