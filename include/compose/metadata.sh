#!/bin/bash
# Airflow's own database, and beside it the history of results, of a role of its own. They need little, and commits shall
# not wait for the disk that a benchmark is busy with.
set -euo pipefail
programs=$(/opt/clusterbench/make_database.sh /srv/metadata/data airflow /run/secrets/metadata_password)
if [ ! -e /srv/metadata/history_made ]; then
    # Of older volumes, too. A line is a statement; what is there already is an error that changes nothing, and that
    # would show the password in the log.
    printf "%s\n" "CREATE ROLE history LOGIN PASSWORD '$(cat /run/secrets/history_password)'" \
        "CREATE DATABASE history OWNER history" |
        "$programs/postgres" --single -D /srv/metadata/data postgres >/dev/null 2>&1
    touch /srv/metadata/history_made
fi
exec "$programs/postgres" -D /srv/metadata/data \
    -c shared_buffers=64MB -c synchronous_commit=off -c logging_collector=off
