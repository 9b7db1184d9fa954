"""Where the write-ahead log lies beside the data: by real devices, and in words."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterbench.base import scripts
from clusterbench.engines.postgres.wal_place import APART, NOT_TOLD, SHARED, TOGETHER, in_words, place_of


def line(log: str = "8:17", data: str = "8:1", disks: tuple[str, str] = ("sdb", "sda"), tablespaces: int = 0) -> str:
    return "\t".join(["/data", log, data, *disks, str(tablespaces)])


@pytest.mark.parametrize(
    ("told", "place"),
    [
        (line(log="8:1"), TOGETHER),
        (line(), APART),
        (line(disks=("sdb ", "sda sdb sdc ")), SHARED),
        (line(log="0:43", disks=("", "sda")), NOT_TOLD),
        (line(log="0:43", data="0:43", disks=("", "")), TOGETHER),
        (line(tablespaces=2), f"{APART}; 2 tablespaces not looked at"),
    ],
    ids=["one device", "two disks", "one of its disks", "no disk is told", "one overlay", "tablespaces"],
)
def test_place_is_told_as_far_as_devices_show_it(told: str, place: str) -> None:
    assert place_of(told) == place


def test_instances_that_differ_are_counted() -> None:
    assert in_words([line()] * 3) == APART
    assert in_words([line(), line(log="8:1"), line()]) == f"2 instances {APART}; 1 instance {TOGETHER}"
    assert in_words([]) == ""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory's bare bones."""
    for name in ("base", "pg_wal", "pg_tblspc"):
        (tmp_path / "data" / name).mkdir(parents=True)
    return tmp_path / "data"


def asked(data: Path) -> str:
    text = "set -eu\n" + scripts.script("postgres/instances", data_directories=[str(data)])
    done = subprocess.run(
        ["bash", "-c", text + scripts.script("postgres/wal_place")], capture_output=True, text=True, check=True
    )
    return done.stdout.rstrip("\n")


def test_log_in_the_data_directory_is_on_its_file_system(data: Path) -> None:
    assert place_of(asked(data)) == TOGETHER


def test_log_behind_a_link_is_looked_at_where_it_is(data: Path, tmp_path: Path) -> None:
    """Memory is no disk: the kernel names none below it."""
    elsewhere = Path("/dev/shm") / f"wal_place_{os.getpid()}"
    elsewhere.mkdir()
    try:
        (data / "pg_wal").rmdir()
        (data / "pg_wal").symlink_to(elsewhere)
        (data / "pg_tblspc" / "16384").symlink_to(tmp_path)
        assert place_of(asked(data)) == f"{NOT_TOLD}; 1 tablespace not looked at"
    finally:
        shutil.rmtree(elsewhere)


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A file system in a file: another device, on the disk of the file."""
    if os.getuid() or not shutil.which("mkfs.xfs"):
        pytest.skip("a file system in a file is mounted by root alone, and made by mkfs.xfs")
    image, at = tmp_path / "image", tmp_path / "mounted"
    at.mkdir()
    with image.open("wb") as file:
        file.truncate(320 * 2**20)
    subprocess.run(["mkfs.xfs", "-q", image], check=True)
    if subprocess.run(["mount", "-o", "loop", image, at], capture_output=True, check=False).returncode:
        pytest.skip("this machine mounts no loop devices")
    yield at
    subprocess.run(["umount", at], check=True)


def test_file_system_in_a_file_is_on_the_disk_that_has_the_file(data: Path, mounted: Path) -> None:
    (data / "pg_wal").rmdir()
    (data / "pg_wal").symlink_to(mounted)
    said = asked(data)
    _, log, of_data, log_disks, data_disks, _ = said.split("\t")
    assert log != of_data and log_disks == data_disks
    assert place_of(said) == (SHARED if data_disks.strip() else NOT_TOLD)


def test_data_directory_that_cannot_be_read_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    text = "set -eu\n" + scripts.script("postgres/instances", data_directories=[str(tmp_path / "data")])
    done = subprocess.run(
        ["bash", "-c", text + scripts.script("postgres/wal_place")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
