"""The SQL of a folder: cut into statements, without comments, and free of what would be a program's own command.

psql and pgbench take a backslash outside of quotes as a command of their own, such as ``\\!``, which runs a shell on
the client host. Such a text is refused. What SQL itself may do is for the server to say, by the rights of its login.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from clusterbench.base.errors import SpecError

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token, TokenType
    from sqlglot.tokens import Tokenizer

PLACEHOLDER = re.compile(r"(?<![\w$])\$(?:(?=\w)(?!\w*\$)|(?=\{\w+\}))")
"""The sign of one: the library takes what is between the signs of ``$1,$2`` for a text in dollars."""
READING = ("SELECT", "WITH", "VALUES", "TABLE")
FRAMING = ("BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SET", "SAVEPOINT", "RELEASE")


@cache
def statements(text: str) -> tuple[str, ...]:
    """Each without its semicolon and without comments. Raises SpecError with what is wrong, and in which line."""
    every = tokens(text)
    found: list[str] = []
    part: list[Token] = []
    for token in every:
        if token.token_type.name == "BACKSLASH":
            where = f"line {_line(text, token.start)}"
            raise SpecError([f"{where}: a backslash outside of quotes is a command of psql; only SQL is allowed here"])
        if token.token_type.name == "SEMICOLON":
            found += [_joined(text, part)] if part else []
            part = []
        else:
            part.append(token)
    found += [_joined(text, part)] if part else []
    if not found:
        raise SpecError(["line 1: holds no statement; write one"])
    return tuple(found)


def only(text: str) -> str:
    """The one statement that it must be. Raises SpecError where it is none, or several."""
    found = statements(text)
    if len(found) > 1:
        raise SpecError(
            [f"holds {len(found)} statements, but one is expected; write the others into files of their own"]
        )
    return found[0]


def on_one_line(text: str) -> str:
    """The same for psql's streams, where a line is a statement."""
    found = only(text)
    for token in tokens(found):
        if "\n" in found[token.start : token.end + 1]:
            raise SpecError([f"line {_line(text, token.start)}: a text goes over several lines; write E'\\n' there"])
    return " ".join(found.split("\n"))


def first_word(statement: str) -> str:
    return tokens(statement)[0].text.upper().lstrip("(") or "("


def is_reading(statement: str) -> bool:
    """Whether it changes no row, as far as its words tell: SELECT may call what changes some."""
    words = {token.text.upper() for token in tokens(statement) if token.token_type.name not in QUOTED}
    return _begins(statement, READING) and not words & {"INSERT", "UPDATE", "DELETE", "MERGE", "INTO"}


def is_framing(statement: str) -> bool:
    """BEGIN, COMMIT and the like: it has no plan."""
    return _begins(statement, FRAMING)


QUOTED = ("STRING", "IDENTIFIER", "HEREDOC_STRING", "BYTE_STRING", "RAW_STRING", "NATIONAL_STRING")


def _begins(statement: str, words: Sequence[str]) -> bool:
    first = next((token for token in tokens(statement) if token.token_type.name != "L_PAREN"), None)
    return first is not None and first.text.upper() in words


def tokens(text: str) -> list[Token]:
    """Raises SpecError where a quote does not end."""
    from sqlglot.errors import TokenError  # noqa: PLC0415  slow to import, and DAGs are parsed without it

    try:
        return list(_tokenizer()().tokenize(PLACEHOLDER.sub("_", text)))
    except TokenError as error:
        raise SpecError([f"is not SQL: {str(error).splitlines()[0]}; correct its quotes"]) from None


@cache
def _tokenizer() -> type[Tokenizer]:
    from sqlglot.dialects.postgres import Postgres  # noqa: PLC0415  as above

    class Everywhere(Postgres.Tokenizer):
        """Also within CALL and the like, the rest of which the library would leave as one text."""

        COMMANDS: ClassVar[set[TokenType]] = set()

    return Everywhere


def _joined(text: str, tokens: Sequence[Token]) -> str:
    """The text from the first token to the last, blanks instead of comments."""
    found, end = "", tokens[0].start
    for token in tokens:
        gap = text[end : token.start]
        found += gap if not gap.strip() else ("\n" if "\n" in gap else " ")
        found += text[token.start : token.end + 1]
        end = token.end + 1
    return found


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
