"""pgbench's log of a mix of scripts, made small on the client host: at full scale it is 120 million lines.

What is left of it are counts per script and second, and of the measured window a histogram of latencies per script,
whose buckets are 0.5 % wide: a quantile is the mean of its bucket's latencies, so it is off by 0.5 % at most. Counts,
sums and the longest latency are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

LOG_KEPT_BYTES_MAX = 64_000_000
"""Up to here the log goes to the archive, compressed; a larger one is removed from the client host."""

OUTPUTS = ("log.*", "reduced.txt", "window.txt")

# A line of the log: client, transaction, latency in us, script, end in epoch seconds, and its microseconds; with --rate
# the lag behind the schedule in us, which is part of the latency; with --max-tries the retries. In the place of the
# latency of one that failed for good, with --failures-detailed: how.
REDUCE = r"""
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
"""
MERGE = r"""
{ k = $1 " " $2 " " $3; a[k] += $4; b[k] += $5; c[k] += $6; if ($7 > d[k]) d[k] = $7 }
END { for (k in a) printf "%s %.0f %.0f %.0f %.0f\n", k, a[k], b[k], c[k], d[k] }
"""
FIRST = r"""
$3 ~ /^[0-9]+$/ { began = $5 * 1000000 + $6 - $3 + (throttled ? $7 : 0); if (!first || began < first) first = began }
END { if (first) printf "%.0f\n", int((first + 999999) / 1000000) + ramp_up }
"""
FILES = {"reduce.awk": REDUCE, "merge.awk": MERGE, "first.awk": FIRST}

COMMAND = """\
begin=$(head -qn 1000 log.* 2>/dev/null | awk -v throttled={throttled} -v ramp_up={ramp_up_s} -f first.awk || true)
if [ -n "$begin" ]; then
  printf '%s\\0' log.* | xargs -0 -P "$(nproc)" -I LOG bash -c '
    awk -v throttled={throttled} -v begin="$1" -v end="$2" -f reduce.awk "$3" >"part.$3"' \\
    reduce "$begin" "$((begin + {window_s}))" LOG
  cat part.* | awk -f merge.awk | sort >reduced.txt
  rm part.*
  bytes=$(cat log.* | wc -c)
  printf 'begin_s %s\\nwindow_s %s\\nlog_bytes %s\\n' "$begin" {window_s} "$bytes" >window.txt
  if [ "$bytes" -le {kept} ]; then gzip -1 log.*; else rm log.*; fi
fi
"""


def command(*, ramp_up_s: int, window_s: int, is_throttled: bool) -> str:
    """Bash: ``log.*`` becomes ``reduced.txt`` and ``window.txt``.

    The window begins so many whole seconds after the second in which the first transaction began.
    """
    return COMMAND.format(ramp_up_s=ramp_up_s, window_s=window_s, throttled=int(is_throttled), kept=LOG_KEPT_BYTES_MAX)


@dataclass(frozen=True)
class Latencies:
    """Of some transactions: per bucket how many, their sum, their lag's sum and the longest, in us."""

    buckets: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(bucket[0] for bucket in self.buckets.values())

    @property
    def mean_ms(self) -> float:
        return sum(bucket[1] for bucket in self.buckets.values()) / self.count / 1e3

    @property
    def lag_mean_ms(self) -> float:
        return sum(bucket[2] for bucket in self.buckets.values()) / self.count / 1e3

    @property
    def max_ms(self) -> float:
        return max(bucket[3] for bucket in self.buckets.values()) / 1e3

    def quantile_ms(self, share: float) -> float:
        """The latency that so great a share of the transactions did not exceed."""
        wanted, seen = share * self.count, 0
        for _, (count, sum_us, _, _) in sorted(self.buckets.items()):
            seen += count
            if seen >= wanted:
                return sum_us / count / 1e3
        raise ValueError("no latencies")


@dataclass(frozen=True)
class Counts:
    """Of one script in one second: transactions that ended well in it, retries, and what failed for good."""

    ended: int = 0
    retries: int = 0
    failed: int = 0


@dataclass(frozen=True)
class ReducedLog:
    begin_s: int
    window_s: int
    log_bytes: int
    seconds: dict[tuple[int, int], Counts]
    """(script, epoch second) -> counts, also outside the window."""
    latencies: dict[int, Latencies]
    """Script -> of the window."""
    failed: dict[str, int]
    """How ("serialization", "deadlock") -> how many failed for good, over the whole log."""

    @property
    def is_kept(self) -> bool:
        return self.log_bytes <= LOG_KEPT_BYTES_MAX

    @property
    def window(self) -> range:
        return range(self.begin_s, self.begin_s + self.window_s)

    def of_window(self, script: int) -> list[Counts]:
        return [self.seconds.get((script, second), Counts()) for second in self.window]

    def ended(self, script: int) -> int:
        """Over the whole log."""
        return sum(counts.ended for (one, _), counts in self.seconds.items() if one == script)

    def failed_before_end(self) -> int:
        """What failed for good before the window's end. Later ones count nowhere: they had no time for a retry."""
        return sum(counts.failed for (_, second), counts in self.seconds.items() if second < self.window.stop)


def read(output: Path) -> ReducedLog | None:
    """What the client host left of the log; None where no transaction ended."""
    if not (output / "window.txt").exists():
        return None
    window = {name: int(value) for name, value in _words(output / "window.txt")}
    seconds: dict[tuple[int, int], Counts] = {}
    buckets: dict[int, dict[int, tuple[int, int, int, int]]] = {}
    failed: dict[str, int] = {}
    for kind, script, key, *values in _words(output / "reduced.txt"):
        a, b, c, d = map(int, values)
        if kind == "second":
            seconds[int(script), int(key)] = Counts(a, b, c)
        elif kind == "latency":
            buckets.setdefault(int(script), {})[int(key)] = (a, b, c, d)
        else:
            failed[key] = failed.get(key, 0) + a
    latencies = {script: Latencies(found) for script, found in buckets.items()}
    return ReducedLog(window["begin_s"], window["window_s"], window["log_bytes"], seconds, latencies, failed)


def merged(parts: Iterable[Latencies]) -> Latencies:
    """The latencies of several scripts as of one."""
    found: dict[int, tuple[int, int, int, int]] = {}
    for part in parts:
        for key, bucket in part.buckets.items():
            count, sum_us, lag_us, longest = found.get(key, (0, 0, 0, 0))
            found[key] = (count + bucket[0], sum_us + bucket[1], lag_us + bucket[2], max(longest, bucket[3]))
    return Latencies(found)


def _words(path: Path) -> Iterator[list[str]]:
    with path.open() as lines:
        yield from (line.split() for line in lines)
