"""The tutorials and the main road of ``docs/journeys/add.md``, followed to the letter in a copy of the project, on the
lab's real servers."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusterbench.base.connections import Connections
from clusterbench.base.paths import project_root
from clusterbench_lab import Lab
from tests.integration.beside import clusterbench

pytestmark = [pytest.mark.lab, pytest.mark.long]
ROOT = project_root()
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
ADD = ROOT / "docs" / "journeys" / "add.md"
FILES_AT_MOST = {"own_tables": 6, "add": 5}
"""Files that a page may ask for; two if it is not named."""
BLOCK = re.compile(r"(?:`(?P<path>[^`\n]+)`:\n\n)?```(?P<kind>\w+)\n(?P<text>.*?)```\n", re.DOTALL)
RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")
ENVIRONMENT = {"CLUSTERBENCH_PLATFORMS": "lab_db*", "CLUSTERBENCH_RETRY_DELAY_S": "0", "COLUMNS": "120"}


@dataclass
class Project:
    """A copy of the project in a folder of its own, as somebody who follows a tutorial has it."""

    dir: Path
    lab: Lab
    run_id: str = ""
    """Of the last run."""

    def git(self, *arguments: str, given: str | None = None) -> str:
        return subprocess.run(
            ["git", "-c", "user.name=x", "-c", "user.email=x@localhost", *arguments],
            cwd=self.dir, input=given, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip

    def changed(self) -> list[str]:
        return [line[3:] for line in self.git("status", "--porcelain", "--untracked-files=all").splitlines()]

    def write(self, path: str, text: str) -> None:
        (self.dir / path).parent.mkdir(parents=True, exist_ok=True)
        (self.dir / path).write_text(text)

    def clusterbench(self, line: str) -> str:
        """What a line of a tutorial prints; where it names a run, the last one is meant."""
        program, *arguments = shlex.split(RUN_ID.sub(self.run_id, line))
        assert program == "clusterbench"
        printed = self.dir.parent / "printed"
        printed.write_text("")
        connections = f'{{"connections_file_path": "{self.lab.lab_dir / "connections.json"}"}}'
        backend = {
            "AIRFLOW__SECRETS__BACKEND": "clusterbench.airflow.connections_file.ConnectionsFile",
            "AIRFLOW__SECRETS__BACKEND_KWARGS": connections,
        }
        clusterbench(
            arguments, self.dir, {**ENVIRONMENT, **backend, "CLUSTERBENCH_LAB_DIR": str(self.lab.lab_dir)}, printed
        )
        said = printed.read_text()
        if found := RUN_ID.findall(said):
            self.run_id = found[-1]
        return said


@pytest.fixture
def project(lab: Lab, connections: Connections, tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path / "project", lab)
    made.dir.mkdir()
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists() and not name.startswith("tests/"):
            (made.dir / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, made.dir / name)
    made.write(".git/info/exclude", "")
    made.git("init", "--quiet")
    made.git("add", "--all")
    made.git("commit", "--quiet", "--message", "as it was")
    (made.dir / ".git/info/exclude").write_text("airflow.log\n__pycache__\n")
    yield made
    shutil.rmtree(made.dir)


def masked(text: str) -> list[str]:
    """Lines without the lines of tables, with one blank for many, and with numbers that may differ as ``#``."""
    text = RUN_ID.sub("RUN", text)
    text = text.replace(": valid with warnings", ": valid")  # a busy machine is a warning; few repetitions are
    text = re.sub(r"[^\w\s…!-~]", " ", text)
    text = re.sub(r"(?<=\d)\u202f(?=\d{3})", "", text)  # thousands apart
    text = re.sub(r"(?<![A-Za-z_])\d[\d.,]*(e[-+]\d+)?", "#", text)
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def is_shown(page: str, printed: str) -> bool:
    """Whether ``printed`` is what the page shows: ``…`` alone on a line stands for lines, in a line for words."""
    pattern = ""
    for line in masked(page):
        words = ".*".join(map(re.escape, line.split("…")))
        pattern += r"(?:.*\n)*?" if line == "…" else words + r"\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in masked(printed))) is not None


@pytest.mark.parametrize("page", [*TUTORIALS, ADD], ids=lambda page: page.stem)
def test_tutorial_does_what_it_says(page: Path, project: Project) -> None:
    touched: set[str] = set()
    commands = 0
    for block in BLOCK.finditer(page.read_text()):
        path, kind, text = block["path"], block["kind"], block["text"]
        if kind == "diff":
            project.git("apply", "--whitespace=nowarn", given=text)
        elif kind == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                line, _, shown = part.partition("\n")
                printed = project.clusterbench(line)
                assert is_shown(shown, printed), f"{line}\nthe page shows:\n{shown}\nprinted is:\n{printed}"
                commands += 1
        else:
            assert path, f"a block of {kind} without the path of its file"
            project.write(path, text)
        touched |= set(project.changed())
    assert commands >= 2
    assert 1 <= len(touched) <= FILES_AT_MOST.get(page.stem, 2), touched


def test_a_page_that_shows_something_else_is_found() -> None:
    printed = "started smoke\n[  0:01] open_run: done\nrun smoke/20261122T094254Z-0ff61f: valid\n"
    assert is_shown("…\nrun smoke/20260101T000000Z-abcdef: valid\n", printed)
    assert is_shown("started …\n[  0:09] open_run: done\n…\n", printed)
    assert not is_shown("…\nrun smoke/20260101T000000Z-abcdef: not valid\n", printed)
    assert not is_shown("started smoke\nrun smoke/20261122T094254Z-0ff61f: valid\n", printed)


def test_there_is_a_tutorial_for_each_thing_that_can_be_added() -> None:
    assert [page.stem for page in TUTORIALS] == ["check", "factor", "own_tables", "platform", "task", "workload"]
