"""``clusterbench bench --only``: some parts of the benchmarks of clusterbench itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterbench.base.errors import ClusterbenchError
from clusterbench.cli.main import main as clusterbench
from clusterbench_lab.bench import all as bench


def test_only_the_parts_that_are_named_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured: list[str] = []

    def part(name: str, *, holds: bool) -> bench.Part:
        return lambda _lab_dir: measured.append(name) or holds  # type: ignore[func-returns-value]

    monkeypatch.setattr(bench, "PARTS", {name: part(name, holds=name != "hosts") for name in bench.PARTS})
    assert clusterbench(["bench", "--only", "own_time", "parsing"]) == 0
    assert measured == ["own_time", "parsing"]
    assert clusterbench(["bench"]) == 1  # one bound does not hold
    assert measured[2:] == list(bench.PARTS)  # and the others are measured all the same


def test_a_part_that_is_not_there_is_told_before_any_is_measured(tmp_path: Path) -> None:
    with pytest.raises(ClusterbenchError) as refused:
        bench.main(tmp_path, ["parsing", "throughputs"])
    assert str(refused.value).startswith(
        "unknown part 'throughputs' of the benchmarks; did you mean 'throughput'? Allowed: confirmation, files, "
    )
