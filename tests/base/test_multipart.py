"""How a large file is cut, and many small ones are packed."""

from __future__ import annotations

import tarfile
from itertools import pairwise
from pathlib import Path

import pytest

from clusterbench.base import multipart
from clusterbench.base.packed import pack

MIB = 1 << 20


@pytest.mark.parametrize(
    "size", [1, 5 * MIB, multipart.PART_BYTES, multipart.PART_BYTES + 1, 6 * 10**9, 48 * 10**12], ids=str
)
def test_parts_are_the_whole_file_within_what_s3_takes(size: int) -> None:
    found = multipart.parts(size)
    assert found[0][0] == 0 and sum(length for _, length in found) == size
    assert all(offset + length == following for (offset, length), (following, _) in pairwise(found))
    assert len(found) <= multipart.PARTS_MAX
    assert all(5 * MIB <= length <= 5 << 30 for _, length in found[:-1])


def test_folder_becomes_one_file_and_the_same_files_the_same_bytes(tmp_path: Path) -> None:
    made = []
    for name in ("one", "other"):
        folder = tmp_path / name / "telemetry"
        for host in ("sdw2", "sdw1"):
            (folder / host).mkdir(parents=True)
            (folder / host / "telemetry.cpu_s").write_text(f"0.1{host}")
        packed = pack(folder)
        assert packed == tmp_path / name / "telemetry.tar" and not folder.exists()
        made.append(packed.read_bytes())
    assert made[0] == made[1]
    with tarfile.open(packed) as tar:
        assert tar.getnames() == ["telemetry/sdw1/telemetry.cpu_s", "telemetry/sdw2/telemetry.cpu_s"]
        content = tar.extractfile("telemetry/sdw2/telemetry.cpu_s")
        assert content and content.read() == b"0.1sdw2"


def test_trial_without_telemetry_packs_nothing(tmp_path: Path) -> None:
    assert pack(tmp_path / "telemetry") is None
    (tmp_path / "telemetry" / "client").mkdir(parents=True)
    assert pack(tmp_path / "telemetry") is None
