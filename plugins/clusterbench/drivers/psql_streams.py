"""Streams: the driver of long statements. N psql sessions at once, each one statement after the other.

psql's own timing is the clock, as in the papers, on the host where the job runs. Every session is connected before the
first statement starts, so connecting is in no response time. What a COPY … TO STDOUT gives goes to a file as it comes,
so no answer is held in memory, and the answer that was measured is the one that is checked.

Where a window of some seconds is asked for, the streams do their statements in rounds. Some that are not measured tell
how many there must be: nothing looks at the clock between two statements. All rounds are whole, and a stream may do
each of them in another order.
"""

from __future__ import annotations

import gzip
import re
import tarfile
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbench.base.driver_session import session
from clusterbench.base.factors import Factor
from clusterbench.base.job import Job
from clusterbench.base.measurements import About, MeasurementKind, Reading
from clusterbench.base.scripts import script
from clusterbench.drivers.pgbench import DRIVER_CPU, driver_cpu

if TYPE_CHECKING:
    from clusterbench.engines import Endpoint

OUTPUTS = (
    "clock.*",
    "times.*",
    "errors.*",
    "rounds.txt",
    "answers.txt",
    "answer.gz",
    "answers.tar.gz",
    "repeated.txt",
    "check.txt",
    "after.*.csv",
    "driver_cpu.txt",
    "ended.txt",
    "servers.txt",
    "session.txt",
)
ANSWER_KEPT_BYTES_MAX = 64_000_000
"""Up to here the first stream's answer goes to the archive, sorted; of larger ones only rows and checksum."""

MEASUREMENTS: Mapping[str, MeasurementKind] = {
    "response_time_s": MeasurementKind(
        "s",
        "Response time",
        about=About(
            "From the start of the first stream to the end of the last one; of several rounds, the mean of one. Of a "
            "single statement it is psql's own time.",
            leaves_out="connecting, and rounds before the window",
        ),
    ),
    "statement_time_s_mean": MeasurementKind(
        "s",
        "Mean time of a statement",
        about=About(
            "psql's own time of a statement, until its last row is there: the mean over all statements of all streams.",
            leaves_out="statements that failed",
        ),
    ),
    "statement_time_s_max": MeasurementKind(
        "s",
        "Longest time of a statement",
        about=About("The same: the longest of all statements.", leaves_out="statements that failed"),
    ),
    "driver_cpu_share": MeasurementKind(
        "1", "Driver's own share of its threads' processor time", "neither", about=DRIVER_CPU
    ),
}
OF_STATEMENT = About(
    "psql's own time of this statement, or query: the mean over all streams and rounds in which it ended.",
    leaves_out="executions that failed or passed their time limit",
    family="STATEMENT_s",
)
"""Of a workload that names its statements."""


STREAMS = Factor(
    1, "The sessions that work at the same time.", minimum=1, maximum=200, wording="{} streams", is_concurrency=True
)
WINDOW_S = Factor(
    0,
    "The shortest measured time in seconds: see docs/reference.md#window-of-statements. 0: each statement runs once.",
    minimum=0,
    maximum=86_400,
    rehearsed_least=1,
    wording="{} s",
    is_later=True,
)
REFUSED: Mapping[str, str] = {
    "rate_per_s": "its statements are long, and each stream begins one when the one before it has ended; a rate is of "
    "many short transactions, by clients that pgbench drives. Leave it out",
}
"""Factor -> why no workload of streams has it."""
ROUNDS_MAX = 1000
ORDERS_MAX = 20
"""Orders of one stream that are made: with more rounds, they start again."""


@dataclass(frozen=True)
class Streams:
    """What the streams do. The shell and SQL around them is not measured."""

    streams: Sequence[Sequence[str]]
    """The statements of each stream, without their semicolons and comments; psql's own commands are allowed."""
    before: str = ""
    """Bash, before the sessions open, such as starting file servers."""
    check: str = ""
    """SQL after the last stream has ended well, whose answer is ``check.txt``."""
    questions: Mapping[str, str] = field(default_factory=dict)
    """Name -> SQL after that, whose answer is ``after.NAME.csv``."""
    on_failure: str = ""
    """SQL after a stream has failed, so that nothing half-done stays."""
    after: str = ""
    """Bash, at the end, also after a failure."""
    goes_on: bool = False
    """A statement that fails ends neither its stream nor the others: what else fails is to be known, too."""
    keeps_answers: bool = False
    """All answers go to the archive as they came, ``answers.tar.gz``: for many small ones, instead of checksums."""
    window_s: int = 0
    """Each stream does its statements again and again, in as many rounds as last so long, after some that are not
    measured, but ``ROUNDS_MAX`` at most. 0: once, and nothing before."""
    orders: Sequence[Sequence[Sequence[int]]] = ()
    """Of each stream, the numbers of its statements, counted from 1, in the order of each measured round; after the
    last they start again. The first is the order in which they are given. Empty: every round is in that order."""
    undo: str = ""
    """SQL before each statement of all rounds but the first: what the statement before it has made is taken away. It is
    not in the statement's time."""


def job(load: Streams, endpoint: Endpoint) -> Job:
    """The streams as a job for one host. The password is in a file that is gone when the job ends."""
    command = (
        script("drivers/programs")
        + script("drivers/statements_told")
        + script(
            "drivers/psql_streams",
            where=endpoint.psql_options,
            streams=len(load.streams),
            stop=int(not load.goes_on),
            keeps_answers=int(load.keeps_answers),
            kept_bytes_max=ANSWER_KEPT_BYTES_MAX,
            window_s=load.window_s,
            rounds_max=ROUNDS_MAX,
            questions=list(load.questions),
        )
    )
    script_of = _script_of_rounds if load.window_s else _script
    files = {f"stream.{n}.sql": script_of(n, statements) for n, statements in enumerate(load.streams, 1)}
    if load.window_s:
        for n, statements in enumerate(load.streams, 1):
            orders = load.orders[n - 1] if load.orders else [range(1, len(statements) + 1)]
            files[f"round.{n}.sql"] = _joined(_round(n, statements, load.undo))
            files[f"orders.{n}.txt"] = _joined([" ".join(map(str, order)) for order in orders])
    files |= {f"after.{name}.sql": text for name, text in load.questions.items()}
    files |= {"check.sql": load.check, "on_failure.sql": load.on_failure}
    files |= {"before.sh": f"{load.before}\n", "after.sh": f"{load.after}\n"}
    return Job(files, endpoint.secrets, command)


def orders(streams: Iterable[int], order: Callable[[int, int], Sequence[Hashable]]) -> list[list[list[int]]]:
    """For ``Streams.orders``. ``order``: a stream, and how many rounds were before -> the names of its statements.

    A round that does not do the same work as the stream's first is left out.
    """
    found = []
    for stream in streams:
        rounds = [order(stream, before) for before in range(ORDERS_MAX)]
        found.append(_places([names for names in rounds if Counter(names) == Counter(rounds[0])]))
    return found


def _places(rounds: Sequence[Sequence[Hashable]]) -> list[list[int]]:
    """A stream's statements by their places in the first round. ``rounds`` has their names."""
    found = []
    for names in rounds:
        places: dict[Hashable, list[int]] = {}
        for number, name in enumerate(rounds[0], 1):
            places.setdefault(name, []).append(number)
        found.append([places[name].pop(0) for name in names])
    return found


BEGIN_LINES = 2
LINES_PER_STATEMENT = 2
"""Each statement is one line of its script, so that the line that psql names in an error tells which one failed."""


def _script(stream: int, statements: Sequence[str]) -> str:
    """Start and end of the stream go to ``clock.N``, each statement's time to ``times.N``, its answer to a file.

    No process runs between two statements: one that looks at the clock would be a think time, and cost the driver more
    than a short statement does.
    """
    begin = [f"\\! {{ : >connected.{stream}; read _; exec date +%s.%N >clock.{stream}; }} <go", "\\timing on"]
    return _joined([*begin, *_round(stream, statements), *_end(stream)])


def _script_of_rounds(stream: int, statements: Sequence[str]) -> str:
    """The same, with a round before. If that is repeated, and what is measured, is in files that the job writes."""
    return _joined(
        [
            f"\\! {{ : >connected.{stream}; read _; }} <go",
            "\\timing on",
            *_round(stream, statements),
            "\\o",
            f"\\! {{ : >once.{stream}; read _; }} <again",
            f"\\i again.{stream}.sql",
            "\\o",
            # Without the number of rounds one has failed before, and nothing is measured.
            f"\\! {{ : >warm.{stream}; read _; [ ! -e rounds.txt ] || exec date +%s.%N >clock.{stream}; }} <measured",
            f"\\i rounds.{stream}.sql",
            *_end(stream),
        ]
    )


def _round(stream: int, statements: Sequence[str], undo: str = "") -> list[str]:
    lines = []
    undone = f" \\timing off \\\\ {undo}; \\timing on" if undo else ""  # on one line, by which errors are counted
    for number, statement in enumerate(statements, 1):
        lines += [
            (f"\\o answer.{stream}.{number}" if statement.startswith("COPY (") else "\\o") + undone,
            statement if statement.startswith("\\") else f"{' '.join(statement.splitlines())};",
        ]
    return lines


def _end(stream: int) -> list[str]:
    return ["\\o", f"\\! exec date +%s.%N >>clock.{stream}"]


def _joined(lines: Sequence[str]) -> str:
    return "\n".join([*lines, ""])


@dataclass(frozen=True)
class Timed:
    """One statement of a stream, counted from 1, and what psql said it took."""

    stream: int
    number: int
    time_s: float
    error: str = ""
    """What the server said where it failed."""
    round: int = 1


def read(output: Path, expected: int, orders: Sequence[Sequence[Sequence[int]]] = ()) -> tuple[Reading, list[Timed]]:
    """Measurements, and every statement that was begun. ``expected`` were asked for in one round; fewer well-ended are
    errors.

    ``orders`` as in ``Streams``: then a statement has the number that it has there, and its round. Without them, all
    that a stream did is counted on, as if it were of one round.
    """
    rounds = _rounds(output)
    timed = [_placed(one, orders) for one in _timed(output)]
    expected *= rounds
    ended = [one for one in timed if not one.error]
    errors = "\n".join(filter(None, (_text(output, name).strip() for name in ("errors.*", "ended.txt"))))
    details: dict[str, object] = {"driver_errors": errors[-2000:], "session": session(output)}
    details |= {"rounds": rounds} if rounds > 1 else {}
    if (output / "answers.txt").exists():
        details["answers"] = (output / "answers.txt").read_text().splitlines()
    if not ended:
        return Reading({}, errors=expected, details=details), timed
    start_s, end_s = _window(output, timed)
    times = [one.time_s for one in ended]
    measurements = {
        # One statement: psql's own time, as printed.
        "response_time_s": times[0] if len(timed) == 1 else (end_s - start_s) / rounds,
        "statement_time_s_mean": sum(times) / len(times),
        "statement_time_s_max": max(times),
    }
    cpu = driver_cpu(_text(output, "driver_cpu.txt"))
    if cpu is not None:
        measurements["driver_cpu_share"] = cpu
    reading = Reading(
        measurements,
        errors=expected - len(ended),
        samples=len(ended),
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


def kept_answers(output: Path) -> dict[tuple[int, int, int], list[str]]:
    """(stream, number of the statement, round) -> the lines of its answer, as they came."""
    path = output / "answers.tar.gz"
    if not path.exists():
        return {}
    found = {}
    with tarfile.open(path) as archive:
        for member in archive:
            content = archive.extractfile(member)
            found[_answer_of(member.name)] = content.read().decode().splitlines() if content else []
    for line in _text(output, "repeated.txt").splitlines():
        again, first = line.split()
        found[_answer_of(again)] = found[_answer_of(first)]
    return found


def _answer_of(file: str) -> tuple[int, int, int]:
    """Of ``answer.1.7``, or of a round, ``answer.1.7.2``."""
    stream, number, *rounds = map(int, file.split(".")[1:])
    return stream, number, rounds[0] if rounds else 1


def _rounds(output: Path) -> int:
    """That were measured: 1 where none was asked for, or none came about."""
    return int(_text(output, "rounds.txt") or 1)


def _placed(one: Timed, orders: Sequence[Sequence[Sequence[int]]]) -> Timed:
    """From counted on over all rounds to its own number and its round."""
    if not orders:
        return one
    own = orders[one.stream - 1]
    before, position = divmod(one.number - 1, len(own[0]))
    return replace(one, number=own[before % len(own)][position], round=before + 1)


def _timed(output: Path) -> list[Timed]:
    found = []
    is_in_rounds = (output / "rounds.txt").exists()  # then what failed before them is of no statement that was measured
    for path in output.glob("times.*"):
        stream = int(path.suffix[1:])
        if not _text(output, f"clock.{stream}"):
            continue  # it never began
        errors = _errors(_text(output, f"errors.{stream}"), "rounds" if is_in_rounds else "stream")
        times = re.findall(r"^Time: ([\d.]+) ms", path.read_text(), re.MULTILINE)
        for number, ms in enumerate(times, 1):
            found.append(Timed(stream, number, float(ms) / 1000, errors.get(number, "")))
    return sorted(found, key=lambda one: (one.stream, one.number))


def _window(output: Path, timed: Sequence[Timed]) -> tuple[float, float]:
    """Epoch seconds of the first stream's start and of the last one's end.

    A stream that was cut short has no end on the clock: there it is as late as its statements' times make it at least.
    """
    starts, ends = [], []
    for stream in {one.stream for one in timed}:
        clock = [float(line) for line in _text(output, f"clock.{stream}").split()]
        starts.append(clock[0])
        ends.append(max(clock[-1], clock[0] + sum(one.time_s for one in timed if one.stream == stream)))
    return min(starts), max(ends)


def _errors(said: str, file: str) -> dict[int, str]:
    """Number of a statement of that script -> what psql said first of its failure."""
    found: dict[int, str] = {}
    pattern = rf"^psql:[^\n]*?{file}\.\d+\.sql:(\d+): (?!NOTICE|WARNING|INFO)(.*)"
    before = BEGIN_LINES if file == "stream" else 0
    for line, words in re.findall(pattern, said, re.MULTILINE):
        found.setdefault((int(line) - before) // LINES_PER_STATEMENT, words.strip())
    return found


def _text(output: Path, pattern: str) -> str:
    return "".join(path.read_text(errors="replace") for path in sorted(output.glob(pattern)))
