"""Engines say what they can and how: no other room asks which one it has."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from typing import get_args

import pytest

from clusterbench.base.engine_declaration import EngineDeclaration
from clusterbench.base.paths import project_root
from clusterbench.spec.by_name import engine_declaration, engine_names
from clusterbench.spec.roles import Role

PACKAGE = project_root() / "plugins" / "clusterbench"
ELSEWHERE = [file for file in sorted(PACKAGE.rglob("*.py")) if PACKAGE / "engines" not in file.parents]


def questions(source: str) -> Iterator[str]:
    """Lines that compare with an engine's name, match one, or look one up in a table."""
    for node in ast.walk(ast.parse(source)):
        asked: list[ast.expr | None] = []
        if isinstance(node, ast.Compare):
            asked = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            asked = [node.value]
        elif isinstance(node, ast.Dict):
            asked = list(node.keys)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("set", "frozenset"):
            asked = list(node.args)
        constants = [one for each in asked if each for one in ast.walk(each) if isinstance(one, ast.Constant)]
        if named := [one for one in constants if one.value in engine_names()]:
            yield f"{named[0].lineno}: {named[0].value}"


def test_no_room_outside_engines_asks_which_engine_it_has() -> None:
    found = {str(file.relative_to(PACKAGE)): list(questions(file.read_text())) for file in ELSEWHERE}
    assert {file: lines for file, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "question",
    [
        'platform.engine == "hadoop"',
        'if "greenplum" != engine.name: pass',
        'facts["engine"] in ("postgres", "greenplum")',
        'PROGRAMS = {"postgres": ("psql",)}',
        'match engine:\n    case "hadoop": pass',
    ],
)
def test_a_question_would_be_seen(question: str) -> None:
    assert len(list(questions(question))) == 1


@pytest.mark.parametrize("name", engine_names())
def test_engine_declares_what_hosts_need(name: str) -> None:
    declaration = engine_declaration(name)
    assert isinstance(declaration, EngineDeclaration)
    assert declaration.programs["client"], "the load runs there"
    assert set(declaration.programs) <= set(get_args(Role))


def test_a_platform_s_file_is_checked_without_an_engine_s_libraries() -> None:
    script = (
        "import sys\nfrom clusterbench.spec.by_name import engine_declaration, engine_names\n"
        "for name in engine_names():\n    engine_declaration(name)\n"
        "print([name for name in ('asyncssh', 'psycopg', 'clusterbench.hosts.fleet') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
