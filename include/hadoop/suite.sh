# shellcheck shell=bash
# TeraGen, TeraSort and TeraValidate, one after the other, each timed here, on the client host (paper 002).
# choices.sh says what to run, and where.
# shellcheck source=/dev/null  # both are written by the job
. ./environment.sh
# shellcheck source=/dev/null  # as above
. ./choices.sh
# shellcheck source=/dev/null  # beside this one
. ./jobs.sh
: "${rows?}" "${path?}" "${history_dir?}"
: "${teragen_options[@]?}" "${terasort_options[@]?}" "${teravalidate_options[@]?}" "${of_each[@]?}"

# Which worker ran each task: the history server tells it for one task at a time only, the jobs' files on HDFS for all.
# Fetched when nothing is measured any more. Without it the suite is as good, so a failure is only told.
attempts() {
  local name id ids='' places=()
  for name in teragen terasort teravalidate; do
    id=$(application "$name") || true
    id=job_${id#application_}
    ids+="$name $id "
    places+=("$history_dir/done/*/*/*/*/$id-*.jhist")
  done
  for _ in 1 2 3 4 5; do # the server moves a file there after it has first been asked for the job
    run org.apache.hadoop.fs.FsShell -cat "${places[@]}" 2>attempts.err |
      awk -v jobs="$ids" -f attempts.awk | gzip >attempts.txt.gz && return
    sleep 1
  done
  echo "which worker ran each task could not be read: $(grep -v '^NOTE' attempts.err | tail -n 1)" >attempts.failed
}

# example NAME ARGUMENTS: one of Hadoop's examples
example() {
  local name=$1
  shift
  job "$name" org.apache.hadoop.examples.ExampleDriver "$name" "${of_each[@]}" "$@"
}

example teragen "${teragen_options[@]}" "$rows" "$path/input"
history teragen
{ run org.apache.hadoop.hdfs.tools.DFSck "$path/input" -files -blocks -racks 2>fsck.err || true; } | gzip >fsck.txt.gz
rest

example terasort "${terasort_options[@]}" "$path/input" "$path/output"
history terasort
rest

example teravalidate "${teravalidate_options[@]}" "$path/output" "$path/report"
history teravalidate
run org.apache.hadoop.fs.FsShell -cat "$path/report/part-r-00000" >report.txt 2>report.err
echo "reading which worker ran each task" >doing
attempts
echo "done" >doing
