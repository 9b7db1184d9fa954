# A log of pgbench -> counts per script and second, histograms of latencies in the window from `begin` to `end`, how many
# transactions each client ended, and when the first one began and the last one ended.
#
# A line of the log: client, transaction, latency in us, script, end in epoch seconds, and its microseconds; with --rate
# (`throttled`) the lag behind the schedule in us, which is part of the latency; with --max-tries (`retried`) the retries.
# What is called latency here is without the lag: the service. With it is the response, as who had to wait saw it.
# A transaction ends with a sleep of `think` us, which is no part of either.
# In the place of the latency of one that failed for good, with --failures-detailed: how.
#
# Times are told by another clock, of which this host's is `ahead` us ahead.
#
# Buckets are 1 us wide below 1000 us and 0.1 % above. A table is asked as seldom as can be: a log has 10^8 lines.
BEGIN { width = log(1.001); last = 6 + throttled + retried }
NF < last { next }  # cut off by a crash
ahead { at = $5 * 1000000 + $6 - ahead; $5 = int(at / 1000000); $6 = at - $5 * 1000000 }
$5 != second || $4 != script {
  note()
  second = $5; script = $4
  key = script " " second
  inside = second >= begin && second < end
}
{ seen = 1; if (retried) again += $last }
$3 !~ /^[0-9]/ { failures++; how[script " " $3]++; next }
{
  done++
  lag = throttled ? $7 : 0; response = $3 - think; us = response - lag
  ended = $5 * 1000000 + $6
  if (ended > latest) { latest = ended; behind = lag }
  began = ended - $3 + lag
  if (!earliest || began < earliest) earliest = began
  if (!clients[$1]++) since[$1] = began
  until[$1] = ended
}
inside {
  bucket = script " " (us < 1000 ? (us > 0 ? us : 0) : 1000 + int(log(us / 1000) / width))
  count[bucket]++; sum[bucket] += us
  if (us > longest[bucket]) longest[bucket] = us
  if (throttled) {
    lags[bucket] += lag
    bucket = script " " (response < 1000 ? (response > 0 ? response : 0) : 1000 + int(log(response / 1000) / width))
    responses[bucket]++; waited[bucket] += response
    if (response > slowest[bucket]) slowest[bucket] = response
  }
}
function note() {
  if (seen) { seconds[key]; all[key] += done; retries[key] += again; failed[key] += failures }
  seen = done = again = failures = 0
}
END {
  note()
  for (k in seconds) printf "second %s %.0f %.0f %.0f 0\n", k, all[k], retries[k], failed[k]
  for (k in count) printf "latency %s %.0f %.0f %.0f %.0f\n", k, count[k], sum[k], lags[k], longest[k]
  for (k in responses) printf "response %s %.0f %.0f 0 %.0f\n", k, responses[k], waited[k], slowest[k]
  for (k in how) printf "failed %s %.0f 0 0 0\n", k, how[k]
  for (k in clients) printf "client 0 %s %.0f %.0f 0 %.0f\n", k, clients[k], since[k], until[k]
  if (latest) printf "span 0 0 %.0f 1 %.0f %.0f\n", earliest, behind, latest
}
