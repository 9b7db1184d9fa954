#!/bin/bash
# Make a PostgreSQL in folder $1 with a role $2, a superuser with the password in file $3, and a database of its name.
# One that is there stays. Made beside the place and moved there, so that half of one never looks like a whole one.
set -euo pipefail
folder=$1 role=$2 password_file=$3
# shellcheck disable=SC2012  # Debian names the folders: by version, without blanks
programs=$(pg_config --bindir 2>/dev/null || ls -d /usr/lib/postgresql/*/bin | tail -n 1)

if [ ! -e "$folder/PG_VERSION" ]; then
    rm -rf "$folder.new"
    "$programs/initdb" -D "$folder.new" --username "$role" --pwfile "$password_file" --encoding UTF8 --locale C.UTF-8 \
        --auth scram-sha-256 --data-checksums --no-sync >/dev/null
    echo "include '/opt/clusterbench/postgresql.conf'" >>"$folder.new/postgresql.conf"
    echo "CREATE DATABASE $role" | "$programs/postgres" --single -D "$folder.new" postgres >/dev/null
    mv "$folder.new" "$folder"
fi
# A container that was killed leaves this, and the number in it is another process's now: nothing else runs here yet.
rm -f "$folder/postmaster.pid"
echo "$programs"
