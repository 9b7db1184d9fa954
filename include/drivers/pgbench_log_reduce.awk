# A log of pgbench -> counts per script and second, and histograms of latencies in the window from `begin` to `end`.
#
# A line of the log: client, transaction, latency in us, script, end in epoch seconds, and its microseconds; with --rate
# the lag behind the schedule in us, which is part of the latency; with --max-tries the retries. In the place of the
# latency of one that failed for good, with --failures-detailed: how.
BEGIN { width = log(1.005); last = throttled ? 8 : 7 }
NF < last { next }  # cut off by a crash
{
  second = $4 " " $5; seconds[second]; retries[second] += $last
}
$3 !~ /^[0-9]+$/ { failed[second]++; how[$4 " " $3]++; next }
{ ended[second]++ }
$5 >= begin && $5 < end {
  lag = throttled ? $7 : 0; us = $3 - lag
  bucket = $4 " " (us > 0 ? int(log(us) / width) : 0)
  count[bucket]++; sum[bucket] += us; lags[bucket] += lag
  if (us > longest[bucket]) longest[bucket] = us
}
END {
  for (k in seconds) printf "second %s %.0f %.0f %.0f 0\n", k, ended[k], retries[k], failed[k]
  for (k in count) printf "latency %s %.0f %.0f %.0f %.0f\n", k, count[k], sum[k], lags[k], longest[k]
  for (k in how) printf "failed %s %.0f 0 0 0\n", k, how[k]
}
