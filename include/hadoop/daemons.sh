# shellcheck shell=bash
# What scripts for the daemons of a deployment on one host call; where there is none, they end here.
# Given: hadoop_directory (the deployment's folder).
: "${hadoop_directory:?}"

cd "$hadoop_directory" 2>/dev/null || exit 0
mkdir -p logs

# alive KIND
alive() {
  local pid words
  pid=$(cat "$1.pid" 2>/dev/null) && [ -n "$pid" ] && words=$(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null) &&
    [[ $words == *"-Dclusterbench.daemon=$hadoop_directory/$1 "* ]]
}
