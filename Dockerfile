# The images of docker-compose.yaml: `airflow`, `cluster` (a host under test, or beside one) and `services` (S3, Redis
# and Airflow's own database). Everything comes from package registries: Debian's, PyPI by requirements.lock, Maven
# Central by the pom.xml files; nothing from an image registry but the base.
# Stages with packages come before files of this project, so that a changed Python file rebuilds no packages.

FROM debian:bookworm-slim AS base
ARG DEBIAN_FRONTEND=noninteractive
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates curl procps \
    && rm -rf /var/lib/apt/lists/*


# Java and PostgreSQL, which both a host and the services have. Debian would make a database when it installs the
# server; here every container makes its own.
FROM base AS servers
ARG DEBIAN_FRONTEND=noninteractive
RUN apt-get update \
    && apt-get install -y --no-install-recommends postgresql-common openjdk-17-jre-headless \
    && sed -i 's/^#* *create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf \
    && apt-get install -y --no-install-recommends postgresql \
    && rm -rf /var/lib/apt/lists/*


# Maven is needed here only.
FROM servers AS jars
ARG DEBIAN_FRONTEND=noninteractive
RUN apt-get update \
    && apt-get install -y --no-install-recommends maven \
    && rm -rf /var/lib/apt/lists/*
COPY include/hadoop/pom.xml include/hadoop/jars.sha256 /build/hadoop/
RUN mvn -B -q -C -f /build/hadoop/pom.xml dependency:copy-dependencies \
        -DincludeScope=runtime -DoutputDirectory=/jars/hadoop/lib \
    && cd /jars/hadoop/lib \
    && sha256sum --check --strict --quiet /build/hadoop/jars.sha256 \
    && test "$(ls | wc -l)" = "$(wc -l </build/hadoop/jars.sha256)"
COPY include/lab/pom.xml include/lab/jars.sha256 /build/s3proxy/
RUN mvn -B -q -C -f /build/s3proxy/pom.xml dependency:copy-dependencies \
        -DincludeScope=runtime -DoutputDirectory=/jars/s3proxy \
    && cd /jars/s3proxy \
    && sha256sum --check --strict --quiet /build/s3proxy/jars.sha256 \
    && test "$(ls | wc -l)" = "$(wc -l </build/s3proxy/jars.sha256)"


FROM servers AS services
ARG DEBIAN_FRONTEND=noninteractive
RUN apt-get update \
    && apt-get install -y --no-install-recommends redis-server \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --no-create-home s3proxy \
    && install -d -o s3proxy -m 700 /srv/s3 \
    && install -d -o postgres -m 700 /srv/metadata
COPY --from=jars /jars/s3proxy /opt/s3proxy
COPY include/lab/logback.xml /opt/s3proxy/
COPY include/compose/make_database.sh include/compose/metadata.sh include/compose/postgresql.conf \
     include/compose/pg_hba.conf /opt/clusterbench/
RUN chmod -R a+rX /opt/clusterbench /opt/s3proxy  # whatever the umask of whoever checked the project out


# A host is its sshd, which runs as the user that owns the server's files and is the only one it lets in: not as root.
FROM servers AS cluster
ARG DEBIAN_FRONTEND=noninteractive
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        openssh-server pgbouncer util-linux-extra iproute2 time \
    && rm -rf /var/lib/apt/lists/* /etc/ssh/ssh_host_* \
    && install -d -o postgres -m 700 /srv/host
COPY --from=jars /jars/hadoop /opt/hadoop
COPY include/compose/make_database.sh include/compose/host.sh include/compose/sshd_config \
     include/compose/postgresql.conf include/compose/pg_hba.conf /opt/clusterbench/
RUN chmod -R a+rX /opt/clusterbench
USER postgres
WORKDIR /srv/host
CMD ["/opt/clusterbench/host.sh"]


FROM base AS airflow
ARG DEBIAN_FRONTEND=noninteractive
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3-venv \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 50000 --create-home --home-dir /opt/airflow airflow \
    && install -d -o airflow -m 700 /opt/airflow/logs
COPY requirements.lock include/lab/uv.txt /build/
RUN python3 -m venv /tmp/uv \
    && /tmp/uv/bin/pip install -q --no-cache-dir --require-hashes -r /build/uv.txt \
    && python3 -m venv --without-pip /opt/venv \
    && /tmp/uv/bin/uv pip install -q --no-cache --system-certs --compile-bytecode --python /opt/venv/bin/python \
        --require-hashes -r /build/requirements.lock \
    && rm -rf /tmp/uv
ENV AIRFLOW_HOME=/opt/airflow \
    GX_ANALYTICS_ENABLED=false \
    PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONPATH=/opt/clusterbench/plugins \
    PYTHONUNBUFFERED=1
COPY include/compose/airflow.cfg /opt/airflow/airflow.cfg
COPY include/compose/clusterbench include/compose/airflow_part.sh /usr/local/bin/
COPY . /opt/clusterbench
RUN chmod -R a+rX /opt/clusterbench /opt/airflow/airflow.cfg /usr/local/bin \
    && python -m compileall -q /opt/clusterbench/plugins /opt/clusterbench/dags
USER airflow
WORKDIR /opt/airflow
