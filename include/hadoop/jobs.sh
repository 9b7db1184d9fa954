# shellcheck shell=bash
# Jobs of Hadoop's, one after the other, each timed here, on the client host. environment.sh has `run CLASS …` and
# `ask URL …`; choices.sh says for whom and where. Whoever sources this has both read before.
: "${history_url?}" "${tag?}" "${pause_s?}"

# What every job is given: the trial's tag, by which it is found, and a client that sees its end within 0.2 s.
# shellcheck disable=SC2034  # of whoever sources this
of_each=("-Dmapreduce.job.tags=$tag" "-Dmapreduce.client.progressmonitor.pollinterval=200")
# Parameters that are factors, as NAME=VALUE of letters, digits and "._-".
declare -a asked # may be none
of_each+=(${asked[@]+"${asked[@]/#/-D}"})

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

application() { sed -n '/.*Submitted application \(application_[0-9_]*\).*/ {s//\1/p;q}' "$1.err"; }

# Why the first task that failed did so; a job's client does not always say it.
failed_attempts() {
  local job task
  job=$(application "$1") || true
  task=$(sed -n '/.*Task failed \(task_[0-9a-z_]*\).*/ {s//\1/p;q}' "$1.err") || true
  [ -n "$task" ] || return 0
  for _ in $(seq 20); do
    ask --max-time 60 "$history_url/job_${job#application_}/tasks/$task/attempts" | cut -c 1-4000 && break
    sleep 0.5
  done
}

# job NAME CLASS ARGUMENTS: a job of Hadoop's, with its begin and end by this host's clock
job() {
  local name=$1 begun ended status=0
  shift
  echo "$name" >doing
  running=$name
  begun=$(date +%s.%N)
  TIMEFORMAT='%U %S'
  { time run "$@" >"$name.out" 2>"$name.err" || status=$?; } 2>"$name.cpu"
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
  ran_as_asked "$1" "$id"
}

# With which parameters a job has run. If one is another than was asked for, the next job would be measured in vain.
ran_as_asked() {
  local one
  [ -n "${asked[*]-}" ] || return 0
  ask --max-time 60 "$history_url/$2/conf" >"$1.conf.json"
  for one in "${asked[@]}"; do
    grep -qF "\"name\":\"${one%%=*}\",\"value\":\"${one#*=}\"" "$1.conf.json" || {
      echo "$1 has not run with $one" >&2
      return 1
    }
  done
}

# The papers' authors slept between the jobs, so that figures show them apart; the disks come to rest meanwhile.
rest() {
  echo "resting" >doing
  sleep "$(awk -v ended="$(tail -n 1 jobs.txt | cut -d ' ' -f 3)" -v now="$(date +%s.%N)" -v pause="$pause_s" \
    'BEGIN {left = ended + pause - now; print (left > 0 ? left : 0)}')"
}
