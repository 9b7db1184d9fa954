"""Published numbers keep their value, their source and how sure they are."""

from __future__ import annotations

from pathlib import Path

from clusterbench.base.paths import project_root
from clusterbench.spec import Published
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.checks import check_published
from clusterbench.spec.loading import load
from clusterbench.workloads import load_workload
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
    assert ("response_time_s", 133.029135) in {(v.measurement, v.value) for v in values}
    (told,) = load(project_root() / "include/published/key_value.yaml", Published).metrics
    assert [row.values for row in told.rows] == [[1.379, 65.369], [0.981, 186.686]]
    assert not [row for row in told.rows if row.measurement], "an EXPLAIN is no lookup"


def test_every_value_of_a_paper_names_the_size_of_its_data() -> None:
    catalog = Catalog(project_root())
    for path in catalog.published_files:
        for value in load(path, Published).values:
            sizes = {"rows", "warehouses", "file_mib", "direction"}  # the last: a network has no size
            assert sizes & set(value.levels), (path.name, value)


def test_levels_of_a_reference_need_a_reference() -> None:
    value = {
        "sweep": "utilisation",
        "measurement": "throughput_per_s",
        "levels": {},
        "value": 1,
        "unit": "1",
        "source": "p",
    }
    published = Published.model_validate(
        {"published": "p", "title": "T", "authors": "A", "cluster": "C",
         "values": [{**value, "ratio_to_levels": {"cpu_percents": 85}}]}
    )  # fmt: skip
    assert check_published(Catalog(project_root()).experiment("order_entry"), published) == [
        "values.0.ratio_to_levels.cpu_percents: workload 'order_entry' has no factor 'cpu_percents'; did you mean "
        "'cpu_percent'? Allowed: " + ", ".join(sorted(load_workload("order_entry").factors)),
        "values.0.ratio_to_levels: is of what it is a ratio to; name that platform in 'ratio_to'",
    ]
