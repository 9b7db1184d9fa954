#!/bin/sh
# `airflow_part.sh run PART…` is one of Airflow's processes; `airflow_part.sh healthy PART` asks whether it is well.
set -eu

healthy() {
    case $1 in
        celery)  # a plain Celery, which is loaded in a tenth of the time that Airflow's takes
            CELERY_BROKER_URL=$(cat /run/secrets/broker_url)
            export CELERY_BROKER_URL
            celery -q inspect ping --timeout 5 --destination "celery@$(hostname)" | grep -q pong ;;
        api-server)
            curl -sf -o /dev/null http://127.0.0.1:8080/api/v2/monitor/health ;;
        *)
            curl -sf http://api-server:8080/api/v2/monitor/health | grep -q "\"$1\":{\"status\":\"healthy\"" ;;
    esac
}

run() {
    # The login's file has to be writable, and a mounted secret is not.
    if [ -e /run/secrets/airflow_passwords.json ]; then
        install -m 600 /run/secrets/airflow_passwords.json /opt/airflow/passwords.json
    fi
    exec airflow "$@"
}

"$@"
