"""What can be varied, and its levels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from clusterbench.base.errors import suggest

Level = bool | int | float | str

SERVER = "server."
"""What the name of a factor begins with that is a setting of the servers: ``server.shared_buffers``."""
SERVER_LEVEL = re.compile(r"-?[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""A value that can be a part of a trial's id, which names files."""


@dataclass(frozen=True)
class Factor:
    """What can be varied: which levels are allowed, which is used when nothing is said, how it reads aloud."""

    default: Level
    help: str
    choices: tuple[str, ...] = ()
    is_free: bool = False
    """Any number, or any word that can be a part of a file's name."""
    minimum: float = 0
    maximum: float = 0
    is_fractional: bool = False
    """Numbers that are not whole are allowed, too."""
    wording: str = "{}"
    """How a level reads in a label, `{}` being the level: "{} clients"."""
    is_concurrency: bool = False
    is_dataset: bool = False
    """True where another level needs other data."""
    is_size: bool = False
    """A number of rows or the like, in which bytes of data grow: what a rehearsal divides. Memory is no such size."""
    rehearsed_least: int = 0
    """Of what only makes a trial long (seconds of a window, lookups of a client): a rehearsal divides it, too, down to
    this. 0: it stays as it is."""
    is_later: bool = False
    """It came when there were results already: its default is left out of levels, so that they stay of one series."""
    setting: str = ""
    """The engine's setting that this factor is, for every session of the driver."""

    def problem(self, level: Level) -> str | None:
        """Why ``level`` is not allowed, or None."""
        if self.is_free or self.choices:
            return self._problem_of_word(level)
        if isinstance(level, bool) or not isinstance(level, int | float if self.is_fractional else int):
            kind = "number" if self.is_fractional else "whole number"
            return f"level {level!r} is not a {kind}; allowed: {self.minimum} to {self.maximum}"
        if not self.minimum <= level <= self.maximum:
            return f"level {level} is out of range; allowed: {self.minimum} to {self.maximum}"
        return None

    def _problem_of_word(self, level: Level) -> str | None:
        if self.choices:
            is_one = level in self.choices
            return None if is_one else f"level {level!r} is not allowed{suggest(str(level), list(self.choices))}"
        if SERVER_LEVEL.fullmatch(str(level)) and not isinstance(level, bool):
            return None
        return f"level {level!r} cannot be part of a file name; allowed: letters, digits, '_', '.' and '-'"

    @property
    def is_divided(self) -> bool:
        """Whether a rehearsal divides its levels."""
        return self.is_size or bool(self.rehearsed_least)

    def least(self, level: Level) -> float:
        """What a rehearsal divides this level to at the least: what is short or small already stays."""
        return min(float(level), max(self.minimum, self.rehearsed_least))

    def divided(self, level: Level, by: int) -> Level:
        """A size, or a trial's length, divided and rounded to a whole number or to three digits. Others stay."""
        if not self.is_divided or by == 1 or isinstance(level, str):
            return level
        if not self.is_fractional:
            return max(int(self.least(level)), (2 * int(level) + by) // (2 * by))
        found = max(self.least(level), float(f"{level / by:.3g}"))
        return int(found) if found == int(found) else found

    def say(self, level: Level) -> str:
        """A level in words: "200 clients", "1 client", "cold"."""
        wording = re.sub(r"(\w)s$", r"\1", self.wording) if level == 1 else self.wording  # "1 client", and "1 s"
        return wording.format(say_count(level) if isinstance(level, int) else str(level).replace("_", " "))


def factor_of(declared: Mapping[str, Factor], name: str) -> Factor | None:
    """The workload's factor of that name, or that of a setting of the servers, which any workload has."""
    setting = name.removeprefix(SERVER)
    if name == setting or not setting:
        return declared.get(name)
    said = f"the servers' setting {setting}"
    return Factor("", said, is_free=True, wording=f"{setting} {{}}", is_later=True, setting=setting)


def server_settings(levels: Mapping[str, Level]) -> dict[str, str]:
    """Setting -> value, of the levels that are settings of the servers."""
    return {name.removeprefix(SERVER): str(level) for name, level in levels.items() if name.startswith(SERVER)}


def say_count(count: int) -> str:
    """1_000_000 as 1M, 1_000_000_000 as 1000M as the papers write it, 100_000 as 100k; other numbers as they are."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if count >= size and count % (size // 10) == 0:
            return f"{count / size:g}{letter}"
    return str(count)
