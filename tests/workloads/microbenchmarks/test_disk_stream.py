"""What fio said of each file becomes the numbers of Figure 6."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from clusterbench.base.paths import project_root
from clusterbench.base.records import Trial
from clusterbench.workloads import load_workload
from clusterbench.workloads.microbenchmarks.disk_stream import file_system

SAID = project_root() / "tests/fixtures/microbenchmarks"
XFS_INFO = """\
meta-data=/dev/sdb1              isize=512    agcount=4, agsize=36621056 blks
         =                       sectsz=512   attr=2, projid32bit=1
data     =                       bsize=4096   blocks=146484224, imaxpct=25
"""


def trial(**levels: Any) -> Trial:
    filled: dict[str, Any] = {name: factor.default for name, factor in load_workload("disk_stream").factors.items()}
    return Trial("d.r1", "d", "hadoop_native", "disk", "disk_stream", filled | levels, 1, 1, 60, {})


def output(folder: Path, files: str) -> Path:
    for path in SAID.glob("*.[12].json"):
        shutil.copy(path, folder)
    second = json.loads((folder / "write.2.json").read_text())
    second["jobs"][0]["write"]["bw_bytes"] *= 0.8
    (folder / "write.2.json").write_text(json.dumps(second))
    (folder / "files.txt").write_text(files)
    (folder / "file_system.txt").write_text("xfs /dev/sdb1 /data1\n")
    (folder / "xfs_info.txt").write_text(XFS_INFO)
    return folder


FILES = "write 1 100.0 110.0 0\nwrite 2 110.5 130.5 0\nread 1 131.0 140.0 0\nread 2 140.5 150.0 0\n"


def test_first_last_and_all_files_have_a_throughput_each_way(tmp_path: Path) -> None:
    reading = load_workload("disk_stream").read(output(tmp_path, FILES), trial(files=2, file_mib=16), {})
    found = reading.measurements
    first, last = found["write_first_mib_per_s"], found["write_last_mib_per_s"]
    assert (first, last) == (800.0, pytest.approx(640.0))
    assert found["write_last_over_first"] == pytest.approx(0.8)
    assert found["write_mib_per_s"] == pytest.approx(2 / (1 / first + 1 / last))
    assert found["read_last_over_first"] == found["read_last_mib_per_s"] / found["read_first_mib_per_s"]
    assert (reading.window_start_s, reading.window_end_s) == (100.0, 150.0)
    assert [(phase.name, phase.start_s, phase.end_s) for phase in reading.phases] == [
        ("write", 100.0, 130.5),
        ("read", 131.0, 150.0),
    ]
    assert reading.details["file_system"] == {"type": "xfs", "source": "/dev/sdb1", "agcount": "4"}


@pytest.mark.parametrize("files", ["write 1 100.0 101.0 1\n", FILES.splitlines()[0] + "\n", ""])
def test_file_that_failed_or_is_missing_leaves_no_number(tmp_path: Path, files: str) -> None:
    folder = output(tmp_path, files)
    (folder / "fio.err").write_text(
        "fio: pid=1, err=28/file:filesetup.c:240, func=write, error=No space left on device\n"
    )
    reading = load_workload("disk_stream").read(folder, trial(files=2, file_mib=16), {})
    assert reading.measurements == {}
    assert "No space left on device" in str(reading.details["driver_errors"])


def test_file_system_that_is_none_of_xfs_has_no_allocation_groups() -> None:
    assert file_system("ext4 /dev/vda /\n", "") == {"type": "ext4", "source": "/dev/vda"}
    assert file_system("", "") == {"type": "", "source": ""}


def test_full_scale_is_the_paper_s_587_gb() -> None:
    workload = load_workload("disk_stream")
    assert workload.needs(trial().levels, 1).client_bytes == pytest.approx(587e9, rel=1e-3)  # type: ignore[attr-defined]


def test_without_fio_it_cannot_be_had() -> None:
    why = "fio is not on PATH of 'client': install the package fio there"
    assert load_workload("disk_stream").not_applicable({}, {"fio": why}) == why
