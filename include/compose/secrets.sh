#!/bin/sh
# Make every password and key of docker-compose.yaml, each in a file of its own, below .compose/ or where
# CLUSTERBENCH_SECRETS says. What is there stays: the databases were made with it. Needs openssl and ssh-keygen.
# Only the folder keeps others out; the files are open, because each container reads its own as another user.
set -eu

cd "$(dirname "$0")/../.."
secrets=${CLUSTERBENCH_SECRETS:-.compose}
hosts="client etl db1 db2 master worker1 worker2 worker3"

for program in openssl ssh-keygen; do
    command -v $program >/dev/null || {
        echo "secrets: $program is missing; install it (Debian's packages: openssl, openssh-client)" >&2
        exit 1
    }
done
umask 022
# shellcheck disable=SC2174  # a folder above it is nobody's secret
mkdir -p -m 700 "$secrets"
chmod 700 "$secrets"
cd "$secrets"
mkdir -p -m 1777 out  # what the command line in a container writes for whoever called it
chmod 1777 out

# Letters and digits only, so that no file format or URL needs to quote them.
password() { openssl rand -hex 24; }

# Without a newline at its end, which Airflow would take for a part of it.
make() {
    [ ! -s "$1" ] || return 0
    value=$("$2")
    printf %s "$value" >"$1.new"
    mv "$1.new" "$1"
}

fernet_key() { openssl rand -base64 32 | tr '+/' '-_'; }
metadata_url() { echo "postgresql+psycopg2://airflow:$(cat metadata_password)@metadata:5432/airflow"; }
broker_url() { echo "redis://:$(cat redis_password)@redis:6379/0"; }
airflow_passwords() { echo "{\"admin\": \"$(cat airflow_admin_password)\"}"; }

redis_conf() {
    cat <<END
requirepass $(cat redis_password)
bind * -::*
save ""
dir /tmp
END
}

s3proxy_properties() {
    cat <<END
s3proxy.endpoint=http://0.0.0.0:9000
s3proxy.authorization=aws-v2-or-v4
s3proxy.identity=$(cat s3_access_key)
s3proxy.credential=$(cat s3_secret_key)
jclouds.provider=filesystem-nio2
jclouds.identity=local
jclouds.credential=local
jclouds.filesystem.basedir=/srv/s3
END
}

# How Airflow's workers find everything, in the format of its LocalFilesystemBackend. Host keys are pinned.
connections() {
    echo '{'
    for host in $hosts; do
        key=$(cut -d' ' -f1,2 "host_key_$host.pub")
        cat <<END
  "compose_$host": {"conn_type": "ssh", "host": "$host", "port": 2222, "login": "postgres", "extra": {
    "key_file": "/run/secrets/client_key", "host_key": "$key", "no_host_key_check": false,
    "work_dir": "/srv/host/work"}},
END
    done
    for host in db1 db2; do
        cat <<END
  "compose_${host}_postgres": {"conn_type": "postgres", "host": "$host", "port": 5432, "login": "bench",
    "password": "$(cat ${host}_password)", "schema": "bench"},
END
    done
    cat <<END
$(results)
END
    if [ -e own_connections ]; then echo ','; cat own_connections; fi # the operator's: mail, webhook
    echo '}'
}

# Where results are: all that the API server is told, for its pages of results.
results() {
    cat <<END
  "clusterbench_archive": {"conn_type": "aws", "login": "$(cat s3_access_key)", "password": "$(cat s3_secret_key)",
    "extra": {"endpoint_url": "http://s3:9000", "bucket": "clusterbench", "region_name": "us-east-1"}},
  "clusterbench_history": {"conn_type": "postgres", "host": "metadata", "port": 5432, "login": "history",
    "password": "$(cat history_password)", "schema": "history"}
END
}

results_connections() { printf '{\n%s\n}\n' "$(results)"; }

for name in metadata_password history_password redis_password db1_password db2_password s3_access_key s3_secret_key \
    airflow_admin_password jwt_secret api_secret_key; do
    make $name password
done
make fernet_key fernet_key
make metadata_url metadata_url
make broker_url broker_url
make airflow_passwords.json airflow_passwords
make redis.conf redis_conf
make s3proxy.properties s3proxy_properties
for name in client_key $(for host in $hosts; do echo "host_key_$host"; done); do
    if [ ! -e "$name" ]; then ssh-keygen -q -t ed25519 -N "" -C "$name" -f "$name"; fi
    chmod 644 "$name"
done
for name in connections results_connections; do
    $name >$name.json.new
    mv $name.json.new $name.json
done
echo "secrets: in $(pwd); the login of Airflow's UI is admin, its password is in airflow_admin_password"
