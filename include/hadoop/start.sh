# shellcheck shell=bash
# Start daemons that do not run; returns at once. After environment.sh and daemons.sh.
# Given: kinds, main_classes (one for each kind).
: "${hadoop_directory:?}" "${classpath:?}" "${jvm:?}" "${kinds:?}" "${main_classes:?}"

# start KIND MAIN_CLASS
start() {
  ! alive "$1" || return 0
  : >"logs/$1.out"
  setsid nohup "${jvm[@]}" "-Dclusterbench.daemon=$hadoop_directory/$1" -Dclusterbench.log=file \
    "-Dclusterbench.log.file=$hadoop_directory/logs/$1.log" -cp "$classpath" "$2" >>"logs/$1.out" 2>&1 </dev/null 9>&- &
  echo $! >"$1.pid"
}
for n in "${!kinds[@]}"; do start "${kinds[n]}" "${main_classes[n]}"; done
