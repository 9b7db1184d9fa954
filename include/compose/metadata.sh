#!/bin/bash
# Airflow's own database. It needs little, and its commits shall not wait for the disk that a benchmark is busy with.
set -euo pipefail
programs=$(/opt/clusterbench/make_database.sh /srv/metadata/data airflow /run/secrets/metadata_password)
exec "$programs/postgres" -D /srv/metadata/data \
    -c shared_buffers=64MB -c synchronous_commit=off -c logging_collector=off
