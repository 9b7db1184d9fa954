"""Published numbers keep their value, their source and how sure they are."""

from __future__ import annotations

from pathlib import Path

from clusterbench.base.paths import project_root
from clusterbench.spec import Published
from clusterbench.spec.loading import load
from tests import FIXTURES


def test_value_keeps_its_cell_unit_and_source() -> None:
    value = load(FIXTURES / "valid/published/every_key.yaml", Published).values[0]
    assert (value.sweep, value.measurement, value.levels) == (
        "lookups",
        "throughput_per_s",
        {"clients": 50, "rows": 1000},
    )
    assert (value.value, value.unit, value.qualifier, value.source) == (3000, "1/s", "about", "page 1")


def test_value_is_exact_unless_it_says_otherwise(tmp_path: Path) -> None:
    text = (FIXTURES / "valid/published/every_key.yaml").read_text().replace("    qualifier: about\n", "")
    (tmp_path / "p.yaml").write_text(text)
    assert load(tmp_path / "p.yaml", Published).values[0].qualifier == "exactly"


def test_times_of_the_paper_are_kept_to_the_last_digit() -> None:
    values = load(project_root() / "include/published/key_value.yaml", Published).values
    assert {(v.measurement, v.value) for v in values} >= {("response_time_s", 133.029135), ("latency_ms_mean", 65.369)}
