"""Blocks of code in the pages are what they claim: commands that exist, YAML that the models read; the site builds."""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from pydantic import BaseModel, ValidationError

from clusterbench.base.paths import built_in_root
from clusterbench.cli.main import parser as of_clusterbench
from clusterbench.spec import Experiment, Part, Platform, Published, Sweep
from clusterbench.spec.by_name import workload_names
from clusterbench.spec.project import Project
from clusterbench.workloads import load_workload
from clusterbench.workloads.declared.model import WorkloadFile
from clusterbench_docs import blocks, commands, measurements
from clusterbench_lab.command import parser as of_lab

ROOT = built_in_root()
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
MODELS: list[type[BaseModel]] = [Experiment, Platform, Project, Sweep, Part, Published, WorkloadFile]


class Block(NamedTuple):
    page: Path
    line: int
    """Of the file, counted from 1: the first of the text."""
    language: str
    text: str

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> Iterator[Block]:
    found = re.finditer(r"^( *)```(\w*)\n(.*?)^\1```$", page.read_text(), re.MULTILINE | re.DOTALL)
    for match in found:
        line = page.read_text()[: match.start()].count("\n") + 2
        yield Block(page, line, match[2], match[3])


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


# Patches.


def of_our_files(block: Block) -> bool:
    return all((ROOT / path).exists() for path in re.findall(r"^--- a/(.+)$", block.text, re.MULTILINE))


@pytest.mark.parametrize(
    "block", [b for b in BLOCKS if b.language == "diff" and of_our_files(b)], ids=lambda b: b.where
)
def test_a_patch_of_our_files_can_be_applied(block: Block) -> None:
    """The tutorials are followed whole in a long test; this says at once which page an edit has left behind."""
    command = ["git", "apply", "--check", "--whitespace=nowarn"]
    done = subprocess.run(command, input=block.text, cwd=ROOT, text=True, capture_output=True, check=False)
    assert done.returncode == 0, f"{block.where}: {done.stderr}"


# YAML.


def problems_of(model: type[BaseModel], data: dict[str, Any]) -> list[str]:
    """Of what is there: a page may leave out keys that a whole file must have, and so what rules over several want."""
    try:
        model.model_validate(data)
    except ValidationError as error:
        found = error.errors()
        is_part = any(one["type"] == "missing" for one in found)
        of_parts = ("missing", "value_error") if is_part else ()
        return [str(one) for one in found if one["type"] not in of_parts]
    return []


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "yaml"], ids=lambda b: b.where)
def test_yaml_is_what_our_files_may_say(block: Block) -> None:
    data = yaml.safe_load(block.text)
    assert isinstance(data, (dict, list))
    if not isinstance(data, dict) or "…" in block.text:
        return
    of_ours = [model for model in MODELS if not set(data) - set(model.model_fields)]
    found = {model.__name__: problems_of(model, data) for model in of_ours}
    assert not found or not all(found.values()), found


# Commands.


def command_lines(block: Block) -> Iterator[str]:
    """What is typed into a terminal, without comments; a line that ends with a backslash goes on."""
    prompt = block.language == "console"
    for line in re.sub(r"\\\n", " ", block.text).splitlines():
        typed = line.strip()
        if prompt and not typed.startswith(("$ ", "# ")):
            continue
        yield re.sub(r"\s#\s.*", "", typed.removeprefix("$ ") if prompt else typed)


def clusterbench_calls() -> Iterator[tuple[str, list[str]]]:
    for block in BLOCKS:
        if block.language not in ("", "console", "sh"):
            continue
        for line in command_lines(block):
            if found := re.match(r"(?:\.venv/bin/)?clusterbench (?=[a-z-])([^|>]+)", line):
                yield block.where, shlex.split(found[1])


def parsed(arguments: list[str]) -> str:
    """Why the command line refuses it, or nothing."""
    parser = of_lab() if arguments[0] == "lab" else of_clusterbench()
    arguments = arguments[1:] if arguments[0] == "lab" else arguments
    said: list[str] = []

    def refuse(self: argparse.ArgumentParser, message: str) -> None:
        said.append(message)
        raise SystemExit(2)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "error", refuse)
        try:
            parser.parse_args(arguments)
        except SystemExit as ended:
            return said[0] if ended.code else ""
    return ""


@pytest.mark.parametrize(
    ("where", "arguments"), [pytest.param(w, a, id=f"{w} {' '.join(a)}"[:80]) for w, a in clusterbench_calls()]
)
def test_a_command_in_a_block_can_be_typed(
    where: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert parsed(arguments) == ""


def test_what_cannot_be_typed_is_found() -> None:
    assert "invalid choice" in parsed(["runn", "smoke"])
    assert "unrecognized arguments" in parsed(["run", "smoke", "--sweeps", "lookups"])
    assert "required" in parsed(["lite", "RUN"])
    assert parsed(["run", "smoke", "--sweep", "lookups"]) == ""


def in_code(page: Path, begin: str) -> list[str]:
    """Within lines of text: `begin …`."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [" ".join(found.split()) for found in re.findall(rf"`({begin} [^`]+)`", text)]


NO_COMMANDS = ("week",)
"""What follows the program's name in subjects of mails."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_within_the_text_exist(page: Path) -> None:
    known = {**commands.commands()}
    wrong = []
    for call in in_code(page, "clusterbench"):
        words = call.split()[1:]
        if words[0] not in known:
            wrong += [call] if re.fullmatch(r"[a-z][a-z-]*", words[0]) and words[0] not in NO_COMMANDS else []
            continue
        options = {flag for parser in _all(known[words[0]]) for flag in parser._option_string_actions}
        wrong += [call for word in words if re.match(r"--[a-z]", word) and word.split("=")[0] not in options]
    assert wrong == []


def _all(command: commands.Command) -> Iterator[argparse.ArgumentParser]:
    yield command.parser
    for one in command.inner:
        yield from _all(one)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_knows_every_target(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    typed = [line for block in BLOCKS if block.page == page for line in command_lines(block)]
    named = [found[1] for line in [*typed, *in_code(page, "make")] if (found := re.match(r"make ([a-z][a-z-]*)", line))]
    assert [name for name in named if name not in targets] == []


# Pages that are made of the code.


def arguments_of(page: str, kind: str) -> list[str]:
    """Of the page's blocks of that kind, in their order."""
    return [found["argument"] or "" for found in blocks.BEGIN.finditer(page) if found["kind"] == kind]


def test_every_command_is_on_its_page_with_words_and_an_example() -> None:
    page = (DOCS / "commands.md").read_text()
    shown = [name for argument in arguments_of(page, "commands") for name in argument.split()]
    assert sorted(shown) == sorted(commands.commands())
    for parser in (one for command in commands.commands().values() for one in _all(command)):
        assert commands.words_of(parser), parser.prog
        assert commands.examples(parser) or commands.has_commands(parser), parser.prog
        helpless = [
            a.dest for a in commands._actions(parser) if not (a.help or isinstance(a, argparse._SubParsersAction))
        ]
        assert helpless == [], parser.prog


def test_every_measurement_is_on_its_page_with_words() -> None:
    page = (DOCS / "measurements.md").read_text()
    assert arguments_of(page, "measurements") == list(measurements.GROUPS)
    assert sorted(arguments_of(page, "measurements_of")) == sorted(workload_names())
    for workload in workload_names():
        kinds = load_workload(workload).measurements
        assert [name for name, kind in kinds.items() if kind.about is None or not kind.about.what] == [], workload
        shown = {name for names in measurements.groups_of(workload).values() for name in names}
        assert all(f"`{name}`" in page for name in [*measurements.own(workload), *shown] if "part" not in name)


# The site.


@pytest.mark.long
def test_the_site_is_built_without_a_warning_and_needs_no_network(browser: Any, tmp_path: Path) -> None:
    site = tmp_path / "site"
    options = ["-q", "-b", "html", "-W", "--keep-going", "-n", "-d", str(tmp_path / "doctrees")]
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(DOCS), str(site)], capture_output=True, text=True, check=False
    )
    assert (built.returncode, built.stderr) == (0, "")
    page, asked = browser.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{(site / 'search.html').as_uri()}?q=lease")
    page.wait_for_selector("#search-results li a")
    page.click("#search-results li a")
    page.wait_for_selector("article h1")
    page.close()
    assert [address for address in asked if not address.startswith(("file:", "data:"))] == []
    html = (site / "develop.html").read_text()
    assert re.findall(r'<(?:script|img)[^>]* src="https?://|<link[^>]* href="https?://', html) == []
    assert (site / "source" / "dags" / "benchmarks.py.html").exists(), "a file that a page links to is readable there"
