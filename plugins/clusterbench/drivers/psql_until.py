"""Streams that repeat their statements until another driver has done its work: a load beside it, measured as well.

What counts is what lies within the other one's window. The answers of the first round are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbench.base.job import Job
from clusterbench.base.scripts import script
from clusterbench.drivers import pgbench

if TYPE_CHECKING:
    from clusterbench.engines import Endpoint

OUTPUTS = ("clock.*", "times.*", "errors.*", "answers.tar.gz", "driver_cpu.txt", "session.txt", "stderr")
ROUNDS_ROOT = 300
"""So many times so many rounds at most: a day of a second each."""


@dataclass(frozen=True)
class Done:
    """One statement that was begun and has ended, well or not."""

    stream: int
    number: int
    """Within its stream, counted from 1, over all rounds."""
    start_s: float
    """Epoch seconds on the driver's host."""
    end_s: float
    error: str = ""


def job(streams: Sequence[Sequence[str]], endpoint: Endpoint) -> Job:
    """The statements of each stream, each on one line; the job ends well when there is a file ``enough``."""
    command = script("drivers/programs") + script(
        "drivers/psql_until", where=endpoint.psql_options, streams=len(streams)
    )
    files = {}
    for stream, statements in enumerate(streams, 1):
        begin = f"\\! {{ : >connected.{stream}; read _; exec date +%s.%N >clock.{stream}; }} <go"
        many = [f"\\i many.{stream}.sql"] * ROUNDS_ROOT
        files[f"stream.{stream}.sql"] = "\n".join([begin, "\\timing on", f"\\i first.{stream}.sql", *many, ""])
        files[f"many.{stream}.sql"] = f"\\i again.{stream}.sql\n" * ROUNDS_ROOT
        first = [f"\\o answer.{stream}.{number}\n{text};" for number, text in enumerate(statements, 1)]
        files[f"first.{stream}.sql"] = "\n".join([*first, ""])
        files[f"again.{stream}.sql"] = "\n".join([*(f"\\o /dev/null\n{text};" for text in statements), ""])
    return Job(files, endpoint.secrets, command)


LINES_PER_STATEMENT = 2


def read(output: Path, lengths: Mapping[int, int]) -> list[Done]:
    """``lengths``: of each stream, how many statements a round has. Nothing of a stream that never began."""
    found = []
    for stream, length in lengths.items():
        clock = pgbench.text(output / f"clock.{stream}").split()
        times = re.findall(r"^Time: ([\d.]+) ms", pgbench.text(output / f"times.{stream}"), re.MULTILINE)
        errors = _errors(pgbench.text(output / f"errors.{stream}"), length)
        at_s = float(clock[0]) if clock else 0.0
        for number, ms in enumerate(times if clock else [], 1):
            found.append(Done(stream, number, at_s, at_s + float(ms) / 1000, errors.get(number, "")))
            at_s = found[-1].end_s
    return found


def _errors(said: str, length: int) -> dict[int, str]:
    """Number of a statement -> what psql said of its failure.

    psql names the line in the file, and no round: they come in the order in which they happened.
    """
    found: dict[int, str] = {}
    last = 0
    pattern = r"^psql:[^\n]*?(first|again)\.\d+\.sql:(\d+): (?!NOTICE|WARNING|INFO)(.*)"
    for file, line, words in re.findall(pattern, said, re.MULTILINE):
        place = int(line) // LINES_PER_STATEMENT
        after = max(last, length if file == "again" else 0)
        number = place + length * max(0, -(-(after + 1 - place) // length))
        found[number] = words.strip()
        last = number
    return found
