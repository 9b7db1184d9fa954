#!/bin/sh
# keep_running.sh PID_FILE PROGRAM [ARGUMENT…]: runs a program and starts it again whenever it ends by itself.
#
# PID_FILE tells the program's process. SIGTERM ends the program in order, and then this. After so many tries in a row
# that each ended within a minute, the last line of the output says that no more is tried. They last for an hour: a
# scheduler does not live without its database, which may be away that long.
set -u

pid_file=$1
shift
tries_in_a_row_max=130
pause_max_s=30
well_after_s=60

child='' waiting='' stopped=''

say() {
    echo "keep_running: $(date -u '+%Y-%m-%d %H:%M:%S UTC'): $*"
}

stop() {
    stopped=1
    [ -z "$child" ] || kill -TERM "$child" 2>/dev/null
    [ -z "$waiting" ] || kill -TERM "$waiting" 2>/dev/null
}

# Killed outright, a scheduler leaves its workers and their tasks behind, which the next one knows nothing of. They are
# in the session that this process leads.
end_what_is_left() {
    for left in $(ps -o pid= --sid $$); do
        [ "$left" = $$ ] || kill -KILL "$left" 2>/dev/null
    done
}

trap stop TERM
tries=0
while [ -z "$stopped" ]; do
    began=$(date +%s)
    # A program that a shell starts in the background would ignore these two signals, and so would its children.
    env --default-signal=INT,QUIT "$@" &
    child=$!
    echo "$child" >"$pid_file"
    wait "$child"
    status=$?
    while [ -n "$stopped" ] && kill -0 "$child" 2>/dev/null; do  # a signal ends the first wait, not the program
        wait "$child"
    done
    child=''
    [ -z "$stopped" ] || break
    end_what_is_left
    [ $(($(date +%s) - began)) -lt $well_after_s ] || tries=0
    tries=$((tries + 1))
    if [ $tries -ge $tries_in_a_row_max ]; then
        say "ended with status $status; given up after $tries tries in a row"
        exit 1
    fi
    pause_s=$((2 * tries))
    [ $pause_s -le $pause_max_s ] || pause_s=$pause_max_s
    say "ended with status $status; started again in $pause_s s"
    sleep $pause_s &
    waiting=$!
    wait "$waiting"
    waiting=''
done
