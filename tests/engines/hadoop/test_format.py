"""When a NameNode gets a new file system: the scripts themselves, with Hadoop's own program stood for by a function."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from clusterbench.base.scripts import script

RUN = "run() { mkdir -p name/current && echo formatted >>name/current/VERSION; }\n"


def bash(text: str, folder: Path) -> str:
    (folder / "logs").mkdir(exist_ok=True)
    command = ["bash", "-euo", "pipefail", "-c", text]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def formatted(folder: Path, is_lost: str = "") -> str:
    body = script("hadoop/format_namenode", name_directory="name", main_class="NameNode", is_lost=is_lost)
    bash(RUN + body, folder)
    return (folder / "name" / "current" / "VERSION").read_text()


def test_a_file_system_that_is_there_stays(tmp_path: Path) -> None:
    assert formatted(tmp_path) == "formatted\n"
    (tmp_path / "name" / "current" / "VERSION").write_text("of last week")
    assert formatted(tmp_path) == "of last week"


def test_one_whose_machines_are_gone_is_put_aside_and_kept(tmp_path: Path) -> None:
    formatted(tmp_path)
    (tmp_path / "name" / "current" / "VERSION").write_text("of last week")
    assert formatted(tmp_path, is_lost="yes") == "formatted\n"
    (aside,) = tmp_path.glob("name.of_machines_that_are_gone.*")
    assert (aside / "current" / "VERSION").read_text() == "of last week"


@pytest.mark.parametrize(("held", "said"), [("", "empty\n"), ("current/VERSION", "")])
def test_a_worker_says_whether_it_has_nothing_of_any_file_system(tmp_path: Path, held: str, said: str) -> None:
    data = tmp_path / "data"
    if held:
        (data / held).parent.mkdir(parents=True)
        (data / held).write_text("x")
    body = script("hadoop/prepare_host", directory=str(tmp_path), data_directories=[str(data)])
    assert bash("java() { :; }; curl() { :; }\n" + body, tmp_path) == said
    master = script("hadoop/prepare_host", directory=str(tmp_path), data_directories=[])
    assert bash("java() { :; }; curl() { :; }\n" + master, tmp_path) == ""
