# shellcheck shell=bash
# TeraGen, TeraSort and TeraValidate as somebody would type them; says when they began and ended. For the bench.
# After the engine's `run CLASS …`. Given: slots, of the cluster; rows.
: "${slots?}" "${rows?}"
said=$(mktemp)
trap 'rm -f "$said"' EXIT

# example NAME ARGUMENTS: one of Hadoop's examples; where it fails, the end of what it said
example() {
  run org.apache.hadoop.examples.ExampleDriver "$@" >"$said" 2>&1 || { tail -n 5 "$said" >&2; exit 1; }
}

begun=$(date +%s.%N)
example teragen "-Dmapreduce.job.maps=$slots" "$rows" /by_hand/input
example terasort "-Dmapreduce.job.reduces=$slots" -Dmapreduce.terasort.output.replication=3 /by_hand/input /by_hand/output
example teravalidate /by_hand/output /by_hand/report
echo "$begun $(date +%s.%N)"
