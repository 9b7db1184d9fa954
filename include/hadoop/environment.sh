# shellcheck shell=bash
# After it, `run CLASS …` runs a class of Hadoop's, in a heap as large as a daemon's.
# Given: hadoop_directory (the deployment's folder), hadoop_home (Hadoop's), hadoop_jars (a class path), heap_mb,
# java_options (may be none).
: "${hadoop_directory:?}" "${hadoop_home:?}" "${hadoop_jars:?}" "${heap_mb:?}"
declare -a java_options # may be none

export HADOOP_CONF_DIR=$hadoop_directory/conf HADOOP_HOME=$hadoop_home HADOOP_COMMON_HOME=$hadoop_home
# Heeded since Java 9, which needs it; Java 8 does not know the variable.
export JDK_JAVA_OPTIONS="--add-opens java.base/java.lang=ALL-UNNAMED --add-opens java.base/java.util=ALL-UNNAMED"
# Last the empty folders that the daemons want for their web pages, where Hadoop came as jars, without any.
classpath="$HADOOP_CONF_DIR:$hadoop_jars:$hadoop_directory/pages"
# Native is where a distribution has libhadoop, without which the page cache is not managed; the jars have none.
jvm=(java "-Xmx${heap_mb}m" "-Djava.library.path=$hadoop_home/lib/native" ${java_options[@]+"${java_options[@]}"})
run() { "${jvm[@]}" -cp "$classpath" "$@"; }
