"""Sections of commands, made from the parsers of their arguments; and the targets of the Makefile."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clusterbench.cli.common import add_choices
from clusterbench.cli.main import parser as of_clusterbench
from clusterbench_docs.blocks import Kinds, table
from clusterbench_lab.command import parser as of_lab

MAKEFILE = Path(__file__).resolve().parents[2] / "Makefile"
CHOICES = "#what-a-run-measures"
EXAMPLES, EXITS = "examples:\n", "exit status:\n"


@dataclass(frozen=True)
class Command:
    name: str
    """All of it: "remark note"."""
    parser: argparse.ArgumentParser
    inner: tuple[Command, ...] = ()


def commands() -> dict[str, Command]:
    """By name, in the order of ``--help``."""
    found = {one.name: one for one in _inner("", of_clusterbench())}
    return found | {"lab": Command("lab", of_lab(), tuple(_inner("lab ", of_lab())))}


def _inner(prefix: str, parser: argparse.ArgumentParser) -> Iterator[Command]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, one in action.choices.items():
                yield Command(prefix + name, one, tuple(_inner(f"{prefix}{name} ", one)))


def make_commands(argument: str) -> str:
    """The sections of these commands, each with those of its own commands after it."""
    known = commands()
    if unknown := [name for name in argument.split() if name not in known]:
        raise LookupError(f"there is no command {', '.join(unknown)}")
    return "\n\n".join(_section(known[name]) for name in argument.split())


def _section(command: Command) -> str:
    parts = [f"### `clusterbench {command.name}`", words_of(command.parser)]
    if not command.inner:
        if _actions(command.parser):
            parts += [f"Usage: `{_usage(command)}`", _arguments(command.parser)]
        parts += ["Examples:" if len(examples(command.parser)) > 1 else "Example:"]
        parts += [_fenced(*examples(command.parser)), _exits(command.parser)]
    return "\n\n".join([part for part in parts if part] + [_section(one) for one in command.inner])


def words_of(parser: argparse.ArgumentParser) -> str:
    return _options_as_code(" ".join((parser.description or "").split()))


def has_commands(parser: argparse.ArgumentParser) -> bool:
    return any(isinstance(action, argparse._SubParsersAction) for action in parser._actions)


def _options_as_code(text: str) -> str:
    return re.sub(r"(?<![\w`-])(--[a-z][a-z-]*)", r"`\1`", text)


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [one for one in parser._actions if not isinstance(one, argparse._HelpAction)]


def examples(parser: argparse.ArgumentParser) -> list[str]:
    """As ``cli/about.py`` writes them."""
    told = (parser.epilog or "").partition(EXAMPLES)[2].partition(EXITS)[0]
    return [line.strip() for line in told.splitlines() if line.strip()]


def _exits(parser: argparse.ArgumentParser) -> str:
    """Of every command alike, but for what 1 means."""
    failed = re.search(r"^ +1 +(.+)$", (parser.epilog or "").partition(EXITS)[2], re.MULTILINE)
    return f"Exit status 1: {failed[1]}." if failed and ";" in failed[1] else ""


def _fenced(*lines: str) -> str:
    return "\n".join(["```", *lines, "```"])


def _usage(command: Command) -> str:
    """In one line: an order of its own, since Python's differs by its version."""
    actions = _actions(command.parser)
    places = [_place(one) for one in actions if not one.option_strings]
    needed = [f"{one.option_strings[-1]} {_value(one)}" for one in actions if one.option_strings and one.required]
    others = ["[options]"] if any(one.option_strings and not one.required for one in actions) else []
    return " ".join(["clusterbench", command.name, *places, *needed, *others])


def _place(action: argparse.Action) -> str:
    return f"[{_value(action)}]" if action.nargs == "?" else _value(action)


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    named = action.metavar or (action.dest if action.choices is None else "")
    return str(named) or "|".join(map(str, action.choices or ()))


def _arguments(parser: argparse.ArgumentParser) -> str:
    """Without those that choose what a run measures: they stand once, for all commands that have them."""
    common = {one.dest: one.option_strings for one in _actions(_of_choices())}
    own = [one for one in _actions(parser) if one.option_strings != common.get(one.dest) or not one.option_strings]
    told = _rows(own)
    return told if len(own) == len(_actions(parser)) else f"{told}\n\nBeside these: [what a run measures]({CHOICES})."


def _of_choices() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    add_choices(parser)
    return parser


def make_choices(_argument: str) -> str:
    """The options that ``run``, ``plan`` and ``plans`` have alike."""
    return _rows([one for one in _actions(_of_choices()) if one.option_strings])


def _rows(actions: list[argparse.Action]) -> str:
    rows: list[tuple[str, str, str]] = []
    for action in actions:
        flag = action.option_strings[-1] if action.option_strings else ""
        name = f"`{' '.join(filter(None, [flag, _value(action)]))}`"
        rows.append((name, _default(action), _options_as_code(action.help or "")))
    if any(default for _, default, _ in rows):
        return table(("argument", "default", "meaning"), [*rows])
    return table(("argument", "meaning"), [(name, meaning) for name, _, meaning in rows])


def _default(action: argparse.Action) -> str:
    if action.required and action.option_strings:
        return "required"
    if action.default in (None, False, True, [], "", argparse.SUPPRESS):
        return ""
    return f"`{action.default}`"


def make_targets(_argument: str) -> str:
    """What ``make`` lists: a line of the Makefile ``name: …  ## words``."""
    found = re.findall(r"^([a-z-]+):.*?  ## (.+)$", MAKEFILE.read_text(), re.MULTILINE)
    return table(("command", "what it does"), [(f"`make {name}`", says) for name, says in found])


KINDS: Kinds = {"commands": make_commands, "choices": make_choices, "make_targets": make_targets}
