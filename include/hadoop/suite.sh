# shellcheck shell=bash
# TeraGen, TeraSort and TeraValidate, one after the other, each timed here, on the client host (paper 002).
# environment.sh has `run CLASS …` and `ask URL …`; choices.sh says what to run, and where.
# shellcheck source=/dev/null  # both are written by the job
. ./environment.sh
# shellcheck source=/dev/null  # as above
. ./choices.sh
: "${history_url?}" "${tag?}" "${pause_s?}" "${rows?}" "${path?}"
: "${history_dir?}"
: "${teragen_options[@]?}" "${terasort_options[@]?}"

# Whatever ends this early also ends what it started on the cluster.
end_application() {
  [ -z "${running:-}" ] || {
    id=$(application "$running") && [ -z "$id" ] ||
      run org.apache.hadoop.yarn.client.cli.ApplicationCLI application -kill "$id" >>kill.out 2>&1 || true
  }
}
trap 'status=$?; trap "" TERM; end_application; [ -z "${renewing:-}" ] || kill "$renewing"; exit $status' EXIT
trap 'exit 143' TERM INT

# A suite of days outlives a ticket of Kerberos, which may be renewed without the keytab.
if [ -n "${KRB5CCNAME:-}" ]; then
  (
    trap 'kill $!; exit' TERM
    while true; do
      sleep 1800 &
      wait $!
      kinit -R 2>>renew.err || true
    done
  ) &
  renewing=$!
fi

application() { sed -n 's/.*Submitted application \(application_[0-9_]*\).*/\1/p' "$1.err" | head -n 1; }

# Why the first task that failed did so; a job's client does not always say it.
failed_attempts() {
  local job task
  job=$(application "$1") || true
  task=$(sed -n 's/.*Task failed \(task_[0-9a-z_]*\).*/\1/p' "$1.err" | head -n 1) || true
  [ -n "$task" ] || return 0
  for _ in $(seq 20); do
    ask --max-time 60 "$history_url/job_${job#application_}/tasks/$task/attempts" | cut -c 1-4000 && break
    sleep 0.5
  done
}

# job NAME ARGUMENTS: one of Hadoop's examples, with its begin and end by this host's clock
job() {
  local name=$1 begun ended status=0
  shift
  echo "$name" >doing
  running=$name
  begun=$(date +%s.%N)
  TIMEFORMAT='%U %S'
  { time run org.apache.hadoop.examples.ExampleDriver "$name" "-Dmapreduce.job.tags=$tag" \
    "-Dmapreduce.client.progressmonitor.pollinterval=200" "$@" >"$name.out" 2>"$name.err" || status=$?; } 2>"$name.cpu"
  ended=$(date +%s.%N)
  running=
  echo "$name $begun $ended $status $(tr '\n' ' ' <"$name.cpu")" >>jobs.txt
  if [ "$status" != 0 ]; then
    failed_attempts "$name" >>"$name.err"
    tail -n 40 "$name.err" | grep -v -e '^NOTE' -e '^[[:space:]]at ' | cut -c 1-600 >&2
    return "$status"
  fi
}

# What YARN and MapReduce tell of a job, after it: not in its time.
history() {
  local id
  id=$(application "$1") || true
  id=job_${id#application_}
  for _ in $(seq 100); do
    ask --silent --no-show-error --max-time 60 "$history_url/$id" >"$1.job.json" && break
    sleep 0.3
  done
  ask --max-time 60 "$history_url/$id/counters" >"$1.counters.json"
  ask --max-time 600 "$history_url/$id/tasks" | gzip >"$1.tasks.json.gz"
}

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

# The paper slept between the jobs, so that its figures show them apart; the disks come to rest meanwhile.
rest() {
  echo "resting" >doing
  sleep "$(awk -v ended="$(tail -n 1 jobs.txt | cut -d ' ' -f 3)" -v now="$(date +%s.%N)" -v pause="$pause_s" \
    'BEGIN {left = ended + pause - now; print (left > 0 ? left : 0)}')"
}

job teragen "${teragen_options[@]}" "$rows" "$path/input"
history teragen
{ run org.apache.hadoop.hdfs.tools.DFSck "$path/input" -files -blocks -racks 2>fsck.err || true; } | gzip >fsck.txt.gz
rest

job terasort "${terasort_options[@]}" "$path/input" "$path/output"
history terasort
rest

job teravalidate "$path/output" "$path/report"
history teravalidate
run org.apache.hadoop.fs.FsShell -cat "$path/report/part-r-00000" >report.txt 2>report.err
echo "reading which worker ran each task" >doing
attempts
echo "done" >doing
