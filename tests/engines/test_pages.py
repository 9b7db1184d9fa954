"""The bash that has a host forget the pages of many files, and that says how much of them is in memory."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from clusterbench.base.scripts import script

PAGE = os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory of three relations, one in two parts and two of one folder, all of it in memory."""
    folder = tmp_path / "data"
    for name, pages in {
        "base/1/10": 3,
        "base/1/10.1": 2,
        "base/1/10_fsm": 5,
        "base/1/100": 7,
        "pg_tblspc/9/PG/1/11": 4,
        "base/1/12": 0,
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x" * pages * PAGE)
    subprocess.run(["sync", "--file-system", str(folder)], check=True)
    return folder


def bash(text: str, given: bytes, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[bytes]:
    functions = script("postgres/pages_in_memory") + script("hosts/forget_pages")
    return subprocess.run(
        [str(shutil.which("bash")), "-euo", "pipefail", "-c", functions + text],
        input=given,
        env={**os.environ, "PATH": path, "LC_ALL": "C"},
        check=False,
        capture_output=True,
    )


def in_memory(data: Path, *names: str) -> list[int]:
    done = bash(f"pages_in_memory {data}", "".join(f"{name}\n" for name in names).encode())
    assert (done.returncode, done.stderr) == (0, b"")
    return [int(word) // PAGE for word in done.stdout.split()]


def listed(data: Path, *names: str) -> bytes:
    return b"".join(os.fsencode(data / name) + b"\0" for name in names)


def without_perl(folder: Path) -> str:
    """A PATH of what hosts have, but perl."""
    folder.mkdir()
    for name in ("bash", "uname", "nproc", "xargs", "dd"):
        (folder / name).symlink_to(str(shutil.which(name)))
    return str(folder)


def test_parts_of_a_relation_are_counted_and_other_files_with_its_number_are_not(data: Path) -> None:
    assert in_memory(data, "base/1/10") == [5, 5], "10 and 10.1; 10_fsm and 100 are others"
    assert in_memory(data, "base/1/10", "pg_tblspc/9/PG/1/11") == [9, 9]
    assert in_memory(data, "base/1/12") == [0, 0], "an empty file"


@pytest.mark.parametrize("way", ["perl", "dd"])
def test_pages_that_are_forgotten_are_not_in_memory(data: Path, tmp_path: Path, way: str) -> None:
    path = os.environ["PATH"] if way == "perl" else without_perl(tmp_path / "bin")
    done = bash("forget_pages", listed(data, "base/1/10", "base/1/10.1", "base/1/gone"), path)
    assert (done.returncode, done.stderr) == (0, b""), "a file that is gone by then has no pages"
    assert in_memory(data, "base/1/10") == [0, 5]
    assert in_memory(data, "base/1/100") == [7, 7]


def test_one_process_forgets_all_of_them(data: Path, tmp_path: Path) -> None:
    """No process a file, and no command line that they would have to fit into."""
    names = [f"many/{number:0100d}" for number in range(3000)]
    (data / "many").mkdir()
    for name in names:
        (data / name).write_bytes(b"x" * PAGE)
    noted = tmp_path / "bin"
    noted.mkdir()
    (noted / "perl").write_text(f'#!/bin/bash\necho >>{noted}/started\nexec {shutil.which("perl")} "$@"\n')
    (noted / "perl").chmod(0o755)
    subprocess.run(["sync", "--file-system", str(data)], check=True)
    done = bash("forget_pages", listed(data, *names), f"{noted}:{os.environ['PATH']}")
    assert (done.returncode, done.stderr) == (0, b"")
    assert (noted / "started").read_text() == "\n"
    assert in_memory(data, *names) == [0, 3000]


def test_file_that_cannot_be_asked_for_is_named(data: Path) -> None:
    (data / "loop").symlink_to("loop")
    done = bash("forget_pages", listed(data, "base/1/10", "loop"))
    assert done.returncode
    assert done.stderr.decode().startswith(f"its pages cannot be forgotten: {data}/loop: Too many levels")
