# shellcheck shell=bash
# After it, `run CLASS …` runs a class of Hadoop's as the client host's own programs do. Where there is a distribution,
# that is its program `hadoop`, with all that its owner has put into hadoop-env.sh; else Java with a folder of jars.
# Given: hadoop_home, hadoop_conf (the client's configuration), hadoop_jars (a class path), heap_mb, java_options (may be
# none).
: "${hadoop_home:?}" "${hadoop_conf:?}" "${hadoop_jars:?}" "${heap_mb:?}"
declare -a java_options # may be none

export HADOOP_CONF_DIR=$hadoop_conf
if [ -x "$hadoop_home/bin/hadoop" ]; then
  export HADOOP_HEAPSIZE_MAX=${heap_mb}m HADOOP_CLIENT_OPTS="${HADOOP_CLIENT_OPTS-} ${java_options[*]-}"
  run() { "$hadoop_home/bin/hadoop" "$@"; }
else
  export HADOOP_HOME=$hadoop_home HADOOP_COMMON_HOME=$hadoop_home
  # Heeded since Java 9, which needs it; Java 8 does not know the variable.
  export JDK_JAVA_OPTIONS="--add-opens java.base/java.lang=ALL-UNNAMED --add-opens java.base/java.util=ALL-UNNAMED"
  run() {
    "${JAVA_HOME:+$JAVA_HOME/bin/}java" "-Xmx${heap_mb}m" "-Djava.library.path=$hadoop_home/lib/native" \
      ${java_options[@]+"${java_options[@]}"} -cp "$HADOOP_CONF_DIR:$hadoop_jars" "$@"
  }
fi
