# shellcheck shell=bash
# TeraGen, TeraSort and TeraValidate as somebody would type them; says when they began and ended. For the bench.
# After the engine's `run CLASS …`. Given: slots, of the cluster; rows.
: "${slots?}" "${rows?}"
driver=org.apache.hadoop.examples.ExampleDriver
begun=$(date +%s.%N)
run $driver teragen "-Dmapreduce.job.maps=$slots" "$rows" /by_hand/input >/dev/null 2>&1
run $driver terasort "-Dmapreduce.job.reduces=$slots" -Dmapreduce.terasort.output.replication=3 /by_hand/input \
  /by_hand/output >/dev/null 2>&1
run $driver teravalidate /by_hand/output /by_hand/report >/dev/null 2>&1
echo "$begun $(date +%s.%N)"
