"""Streams: the driver of long statements. N psql sessions at once, each one statement after the other.

psql's own timing is the clock, as in the papers, on the host where the job runs. Every session is connected before the
first statement starts, so connecting is in no response time. What a COPY … TO STDOUT gives goes to a file as it comes,
so no answer is held in memory, and the answer that was measured is the one that is checked.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from clusterbench.pgbench import driver_cpu
from clusterbench.workloads import Job, MeasurementKind, Reading

if TYPE_CHECKING:
    from clusterbench.connections import Connection
    from clusterbench.engines import Endpoint

OUTPUTS = ("clock.*", "times.*", "errors.*", "answers.txt", "answer.gz", "check.txt", "driver_cpu.txt", "servers.txt")
ANSWER_KEPT_BYTES_MAX = 64_000_000
"""Up to here the first stream's answer goes to the archive, sorted; of larger ones only rows and checksum."""

# Response time: from the first stream's start to the last one's end.
MEASUREMENTS: Mapping[str, MeasurementKind] = {
    "response_time_s": MeasurementKind("s", "Response time"),
    "statement_time_s_mean": MeasurementKind("s", "Mean time of a statement"),
    "statement_time_s_max": MeasurementKind("s", "Longest time of a statement"),
    "driver_cpu_share": MeasurementKind("1", "Driver's own share of its threads' processor time", "neither"),
}


@dataclass(frozen=True)
class Load:
    """What the streams do. The shell and SQL around them is not measured."""

    streams: Sequence[Sequence[str]]
    """The statements of each stream, without their semicolons; psql's own commands are allowed."""
    before: str = ""
    """Bash, before the sessions open, such as starting file servers."""
    check: str = ""
    """SQL after the last stream has ended well, whose answer is ``check.txt``."""
    on_failure: str = ""
    """SQL after a stream has failed, so that nothing half-done stays."""
    after: str = ""
    """Bash, at the end, also after a failure."""


COMMAND = """\
export PGPASSFILE="$PWD/pgpass" PGCONNECT_TIMEOUT=30
ask() {{ psql {where} --no-psqlrc --quiet --no-align --tuples-only --field-separator=' ' --set=ON_ERROR_STOP=1 "$@"; }}
finish() {{ {after}
}}
trap 'exit 143' TERM
trap 'status=$?; trap - EXIT; [ "$status" = 0 ] || ask --file=on_failure.sql >&2 || true; finish; exit "$status"' EXIT
{before}
threads=$(nproc); [ "$threads" -le {streams} ] || threads={streams}
echo "threads $threads" >driver_cpu.txt
TIMEFORMAT='elapsed_s %R
user_s %U
system_s %S'
run() {{
  exec 8>go; flock 8  # the streams wait for this lock, which is given back when all of them are connected
  local pids="" status=0 n
  for n in $(seq {streams}); do
    psql {where} --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --file="stream.$n.sql" \\
      >"times.$n" 2>"errors.$n" </dev/null 8>&- & pids="$pids $!"
  done
  while [ "$(ls connected.* 2>/dev/null | wc -l)" -lt {streams} ] && [ "$(jobs -rp | wc -l)" = {streams} ]; do
    sleep 0.02
  done
  exec 8>&-
  for n in $pids; do wait -n || {{ status=1; kill $pids 2>/dev/null; break; }}; done
  wait
  return "$status"
}}
{{ time run ; }} 2>>driver_cpu.txt || {{ head -n 3 -q errors.* >&2; exit 1; }}
for file in $(ls answer.* 2>/dev/null); do
  LC_ALL=C sort "$file" >"$file.sorted"
  echo "$file $(wc -l <"$file.sorted") $(sha256sum <"$file.sorted")" >>answers.txt
  rm "$file"
done
for file in $(ls answer.*.sorted 2>/dev/null | head -n 1); do
  [ "$(stat -c %s "$file")" -gt {kept} ] || gzip -1 <"$file" >answer.gz
done
rm -f answer.*.sorted
[ ! -s check.sql ] || ask --file=check.sql >check.txt
"""


def job(load: Load, endpoint: Endpoint, database: Connection) -> Job:
    """The streams as a job for one host. The password is in a file that is gone when the job ends."""
    where = f"{endpoint.options} --dbname={quote(endpoint.dbname)}"
    command = COMMAND.format(
        where=where,
        streams=len(load.streams),
        before=load.before,
        after=load.after or "true",
        kept=ANSWER_KEPT_BYTES_MAX,
    )
    files = {f"stream.{n}.sql": _script(n, statements) for n, statements in enumerate(load.streams, 1)}
    files |= {"check.sql": load.check, "on_failure.sql": load.on_failure}
    return Job(files, {"pgpass": endpoint.password_file(database.password)}, command)


def _script(stream: int, statements: Sequence[str]) -> str:
    """Each statement's start goes to ``clock.N``, its time to ``times.N``, its answer to a file of its own."""
    lines = [f"\\! touch connected.{stream}; flock --shared go true", "\\timing on"]
    for number, statement in enumerate(statements, 1):
        lines += [
            f"\\o answer.{stream}.{number}" if statement.startswith("COPY (") else "\\o",
            f"\\! date +%s.%N >>clock.{stream}",
            statement if statement.startswith("\\") else f"{statement};",
        ]
    return "\n".join([*lines, "\\o", ""])


@dataclass(frozen=True)
class Timed:
    """One statement of a stream; both in seconds of the driver's host's clock."""

    stream: int
    start_s: float
    time_s: float


def read(output: Path, expected: int) -> tuple[Reading, list[Timed]]:
    """Measurements, and every statement's time. ``expected`` statements were asked for; fewer is an error."""
    timed = _timed(output)
    errors = _text(output, "errors.*").strip()
    details: dict[str, object] = {"driver_errors": errors[-2000:]}
    if (output / "answers.txt").exists():
        details["answers"] = (output / "answers.txt").read_text().splitlines()
    if not timed:
        return Reading({}, errors=expected, details=details), []
    start_s = min(one.start_s for one in timed)
    end_s = max(one.start_s + one.time_s for one in timed)
    times = [one.time_s for one in timed]
    measurements = {
        # One statement: psql's own time, as printed. Several: the starts are read from the clock beside it.
        "response_time_s": times[0] if len(times) == 1 else end_s - start_s,
        "statement_time_s_mean": sum(times) / len(times),
        "statement_time_s_max": max(times),
    }
    cpu = driver_cpu(_text(output, "driver_cpu.txt"))
    if cpu is not None:
        measurements["driver_cpu_share"] = cpu
    reading = Reading(
        measurements,
        errors=expected - len(timed),
        samples=len(timed),
        window_start_s=start_s,
        window_end_s=end_s,
        details=details,
    )
    return reading, timed


def answers(output: Path) -> list[tuple[int, str]]:
    """(rows, SHA-256 of the sorted lines) of every answer."""
    lines = _text(output, "answers.txt").splitlines()
    return [(int(words[1]), words[2]) for line in lines if len(words := line.split()) >= 3]


def kept_answer(output: Path) -> list[str] | None:
    """The sorted lines of the first stream's first answer, or None where it was too large."""
    path = output / "answer.gz"
    return gzip.decompress(path.read_bytes()).decode().splitlines() if path.exists() else None


def _timed(output: Path) -> list[Timed]:
    found = []
    for path in output.glob("times.*"):
        stream = int(path.suffix[1:])
        clock = output / f"clock.{stream}"
        starts = [float(line) for line in clock.read_text().split()] if clock.exists() else []
        times = [float(ms) / 1000 for ms in re.findall(r"^Time: ([\d.]+) ms", path.read_text(), re.MULTILINE)]
        if re.search(r"^psql:.*(?:ERROR|FATAL|error):", _text(output, f"errors.{stream}"), re.MULTILINE):
            times = times[: len(starts) - 1]  # psql tells the time of what failed, too
        found += [Timed(stream, start, time) for start, time in zip(starts, times, strict=False)]
    return sorted(found, key=lambda one: (one.stream, one.start_s))


def _text(output: Path, pattern: str) -> str:
    return "".join(path.read_text(errors="replace") for path in sorted(output.glob(pattern)))
