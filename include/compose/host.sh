#!/bin/bash
# A host of the cluster: its sshd, and where it was given a password for one, a PostgreSQL that whoever logs in here may
# stop and start. sshd is what keeps the container up; a server that dies stays down, for whoever measures it to see.
set -euo pipefail

umask 077
mkdir -p /tmp/ssh /srv/host/work
install -m 600 /run/secrets/host_key /tmp/ssh/host_key

stop() {
    if [ -n "${programs:-}" ]; then "$programs/pg_ctl" -D /srv/host/pgdata -m fast -t 20 -s stop || true; fi
    kill "$sshd"
}

if [ -e /run/secrets/database_password ]; then
    programs=$(/opt/clusterbench/make_database.sh /srv/host/pgdata bench /run/secrets/database_password)
    "$programs/pg_ctl" -D /srv/host/pgdata -w -t 120 -s -l /srv/host/pgdata/start.log start
fi
/usr/sbin/sshd -D -e -f /opt/clusterbench/sshd_config &
sshd=$!
trap stop TERM INT
wait "$sshd"
