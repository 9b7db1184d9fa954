"""From a file of SQL that people have sent to the statements in it, each with what its constants were. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from clusterbench.base.errors import SpecError
from clusterbench.workloads.declared import sql_text
from clusterbench.workloads.declared.counted import Counted
from clusterbench.workloads.declared.model import Value

PREPARE = re.compile(r'PREPARE\s+("[^"]+"|\w+)\s*(?:\([^;]*?\))?\s+AS\s+(.*)', re.IGNORECASE | re.DOTALL)
EXECUTE = re.compile(r'EXECUTE\s+("[^"]+"|\w+)\s*(?:\((.*)\))?', re.IGNORECASE | re.DOTALL)
OF_SESSIONS = ("DEALLOCATE", "DISCARD", "RESET")
NUMBERED = re.compile(r"\$(\d+)")
SHOWN = 80
PIECES = re.compile(r"(?<=;)[ \t]*\n")


def of_log(text: str) -> tuple[list[Counted], list[str]]:
    """Each statement of the file, those that stand there most often first, and what is no SQL in it, by line.

    Statements that differ by constants only are one.
    """
    groups: dict[str, list[list[str]]] = {}
    every, problems = _statements(text)
    for each in _sent(every):
        shape, constants = _shape(each)
        groups.setdefault(shape, []).append(constants)
    found = [_counted(shape, rows) for shape, rows in groups.items()]
    return sorted(found, key=lambda one: -one.calls), problems


def _statements(text: str) -> tuple[list[str], list[str]]:
    """Of all of it at once; where that is no SQL, of each piece up to a semicolon at the end of a line."""
    try:
        return list(sql_text.statements(text)), []
    except SpecError:
        pass
    found: list[str] = []
    problems: list[str] = []
    line = 1
    for piece in PIECES.split(text):
        own = [each for each in piece.split("\n") if not each.lstrip().startswith("\\")]
        try:
            found += sql_text.statements("\n".join(own)) if "".join(own).strip() else []
        except SpecError as error:
            begin = line + piece[: len(piece) - len(piece.lstrip())].count("\n")
            said = " ".join(piece.split())[:SHOWN]
            problems.append(f"line {begin}: {error.problems[0].removeprefix('line 1: ')}: {said}")
        line += piece.count("\n") + 1
    return found, problems


def _sent(every: Sequence[str]) -> list[str]:
    """Without what frames them, and with what EXECUTE gave to what was prepared."""
    prepared: dict[str, str] = {}
    found = []
    for each in every:
        if sql_text.is_framing(each) or sql_text.first_word(each) in OF_SESSIONS:
            continue
        if match := PREPARE.fullmatch(each):
            prepared[match[1].lower()] = match[2]
        elif (match := EXECUTE.fullmatch(each)) and match[1].lower() in prepared:
            found.append(_executed(prepared[match[1].lower()], match[2] or ""))
        else:
            found.append(each)
    return found


def _executed(body: str, arguments: str) -> str:
    given = _split(arguments)
    return NUMBERED.sub(lambda match: given[int(match[1]) - 1] if int(match[1]) <= len(given) else match[0], body)


def _split(arguments: str) -> list[str]:
    """At the commas that are within no parentheses."""
    if not arguments.strip():
        return []
    found, begin, depth = [], 0, 0
    for token in sql_text.tokens(arguments):
        kind = token.token_type.name
        depth += (kind == "L_PAREN") - (kind == "R_PAREN")
        if kind == "COMMA" and not depth:
            found.append(arguments[begin : token.start].strip())
            begin = token.end + 1
    return [*found, arguments[begin:].strip()]


def _shape(text: str) -> tuple[str, list[str]]:
    """The statement with $1, $2 for its texts and numbers; and what these are, as they stand there.

    One that has $1 already was written so by who counts statements.
    """
    if NUMBERED.search(text):
        return text, []
    parts, constants, end = [], [], 0
    for token in sql_text.tokens(text):
        written = text[token.start : token.end + 1]
        if token.token_type.name == "NUMBER" or (token.token_type.name == "STRING" and written.startswith("'")):
            constants.append(written)
            parts += [text[end : token.start], f"${len(constants)}"]
            end = token.end + 1
    return "".join([*parts, text[end:]]), constants


def _counted(shape: str, rows: Sequence[Sequence[str]]) -> Counted:
    """Constants that are always the same stay."""
    if not rows[0]:
        return Counted(shape, len(rows))
    varying = [at for at in range(len(rows[0])) if len({row[at] for row in rows}) > 1]
    text = NUMBERED.sub(
        lambda match: f"${varying.index(at) + 1}" if (at := int(match[1]) - 1) in varying else rows[0][at],
        shape,
    )
    observed = tuple([_value(row[at]) for at in varying] for row in rows) if varying else ()
    return Counted(text, len(rows), observed=observed)


def _value(written: str) -> Value:
    if written.startswith("'"):
        return written[1:-1].replace("''", "'")
    number = Decimal(written)
    return int(number) if number == number.to_integral_value() and "." not in written else float(number)
