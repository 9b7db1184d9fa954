"""A paper's table by concurrency and density: whole, "x" where nothing was completed; and that of paper 004."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from clusterbench.base.errors import SpecError
from clusterbench.base.paths import project_root
from clusterbench.spec import Published
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.checks import check_published
from clusterbench.spec.loading import load
from clusterbench.spec.scenarios import PublishedScenarios, ScenarioCell

CATALOG = Catalog(project_root())
SMALL: dict[str, Any] = {
    "title": "T",
    "source": "p. 9",
    "measurement": "response_time_s",
    "warnings": "driver_cpu_share",
    "factor": "streams",
    "repetitions": 3,
    "reference": "ideal",
    "scenarios": {
        "ideal": {"title": "S1", "placement": "1 VM", "collapsed": False, "steal": "none"},
        "base": {"title": "S2", "placement": "4 VMs", "collapsed": True, "steal": "some"},
    },
    "sweeps": {
        "full_scan": {
            1: {"ideal": {"time": "0:03:08", "warnings": 0}, "base": {"time": "0:03:07", "change_percent": 0}},
            8: {"ideal": {"time": "1:12:04", "warnings": 0}, "base": {"time": "x", "completed": 0}},
        }
    },
}


def changed(path: str, value: object) -> dict[str, Any]:
    """``SMALL`` with another value at a path; None takes the key out."""
    made = deepcopy(SMALL)
    *parents, last = (int(key) if key.isdigit() else key for key in path.split("."))
    place = made
    for key in parents:
        place = place[key]  # type: ignore[index]
    if value is None:
        del place[last]  # type: ignore[arg-type]
    else:
        place[last] = value  # type: ignore[index]
    return made


def paper() -> PublishedScenarios:
    found = CATALOG.published("tpcds_density").scenarios
    assert found is not None
    return found


# What a table must be.


def test_times_are_seconds_and_x_is_none() -> None:
    rows = PublishedScenarios.model_validate(SMALL).sweeps["full_scan"]
    assert [rows[level][name].time_s for level in rows for name in rows[level]] == [188, 187, 4324, None]  # type: ignore[index]


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (
            "sweeps.full_scan.1.base.time",
            "3:07",
            r"must be as '1:12:04' \(hours, minutes, seconds\) or x, found '3:07'",
        ),
        ("sweeps.full_scan.1.base.time", "0:61:00", "found '0:61:00'"),
        ("sweeps.full_scan.1.base.time", 4324, "must be a text as '1:12:04' in quotes, or x, found 4324"),
        ("sweeps.full_scan.8.base.completed", None, "'completed: 0' and 'time: x' belong together, found None and 'x'"),
        ("sweeps.full_scan.1.base.completed", 0, "belong together, found 0 and '0:03:07'"),
        ("sweeps.full_scan.1.base.completed", 4, r"sweeps\.full_scan\.1\.base: 4 completed of 3 repetitions"),
        ("sweeps.full_scan.8.base.change_percent", 7, "is 7, but nothing was completed; leave it out"),
        ("sweeps.full_scan.8.ideal.change_percent", 0, "would compare the scenario with itself; remove it"),
        ("sweeps.full_scan.8.base", None, r"sweeps\.full_scan\.8: scenario 'base' is missing"),
        ("reference", "oversubscribed", r"reference: 'oversubscribed' is not one of the scenarios \(ideal, base\)"),
        ("sweeps.full_scan.8.oversubscribed", {"time": "0:00:01"}, "'oversubscribed' is not one of the scenarios"),
        ("scenarios.crowded", SMALL["scenarios"]["base"], "'ideal', 'base' or 'oversubscribed'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(path: str, value: object, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        PublishedScenarios.model_validate(changed(path, value))


def test_time_without_quotes_is_told_with_its_line(tmp_path: Path) -> None:
    """YAML 1.1 reads it as a number to the base of 60."""
    published = {"published": "p", "title": "P", "authors": "A", "cluster": "C", "scenarios": SMALL}
    path = tmp_path / "p.yaml"
    path.write_text(yaml.safe_dump(published).replace("'1:12:04'", "1:12:04"))
    with pytest.raises(SpecError, match=r"p\.yaml:\d+: .*time: must be a text as '1:12:04' in quotes"):
        load(path, Published)


def test_published_file_without_any_number_is_refused() -> None:
    with pytest.raises(ValidationError, match="has no number: write 'values', 'tables', 'metrics' or 'scenarios'"):
        Published.model_validate({"published": "p", "title": "P", "authors": "A", "cluster": "C"})


# What a table and the experiment must agree on.


def wrong(**keys: Any) -> list[str]:
    published = {"published": "p", "title": "P", "authors": "A", "cluster": "C", "scenarios": SMALL | keys}
    return check_published(CATALOG.experiment("retail"), Published.model_validate(published))


def test_table_that_fits_its_sweeps_has_no_problem() -> None:
    assert wrong() == []


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"sweeps": {"full_scn": SMALL["sweeps"]["full_scan"]}}, "sweeps: experiment 'retail' has no sweep 'full_scn'"),
        ({"measurement": "response_tme_s"}, "measurement: workload 'full_scan' has no measurement 'response_tme_s'"),
        ({"warnings": "warned"}, "warnings: workload 'full_scan' has no measurement 'warned'"),
        ({"factor": "stream"}, "factor: workload 'full_scan' has no factor 'stream'; did you mean 'streams'?"),
    ],
)
def test_name_that_the_experiment_does_not_have_is_refused(keys: dict[str, Any], said: str) -> None:
    (found,) = wrong(**keys)
    assert found.startswith(f"scenarios.{said}")


# Paper 004.


def cells() -> list[tuple[str, ScenarioCell, ScenarioCell, str]]:
    """(where, cell, that of the reference, scenario) of all but the reference's."""
    table = paper()
    return [
        (f"{sweep} {level} {name}", cell, row[table.reference], name)
        for sweep, rows in table.sweeps.items()
        for level, row in rows.items()
        for name, cell in row.items()
        if name != table.reference
    ]


def test_table_has_all_levels_of_the_paper_in_its_order() -> None:
    assert {name: list(rows) for name, rows in paper().sweeps.items()} == {
        "lite": [1, 4, 8, 12, 16, 20, 24, 28, 32, 64, 100],
        "full": [1, 2, 4, 8],
    }


@pytest.mark.parametrize(("where", "cell", "reference", "_name"), cells(), ids=[cell[0] for cell in cells()])
def test_printed_percentages_follow_from_the_printed_times(
    where: str, cell: ScenarioCell, reference: ScenarioCell, _name: str
) -> None:
    """Within the rounding of both times to whole seconds, and of the percentage to a whole one."""
    assert reference.time_s is not None
    if cell.time_s is None:
        assert cell.change_percent is None and cell.warnings is None, where
        return
    low, high = (cell.time_s - 0.5) / (reference.time_s + 0.5), (cell.time_s + 0.5) / (reference.time_s - 0.5)
    assert cell.change_percent is not None
    assert (low - 1) * 100 - 0.5 <= cell.change_percent <= (high - 1) * 100 + 0.5, where


def test_whole_seconds_explain_the_two_percentages_that_the_printed_times_alone_do_not() -> None:
    """187 s and 247 s over 188 s are -0.5 % and 31.4 %: printed are 0 % and 32 %."""
    off = []
    for where, cell, reference, _ in cells():
        if cell.time_s and reference.time_s:
            by_times = round((cell.time_s / reference.time_s - 1) * 100)
            off += [where] if by_times != cell.change_percent else []
    assert off == ["lite 1 base", "lite 1 oversubscribed"]


def test_printed_medians_are_those_of_all_rows_that_have_a_percentage() -> None:
    for name, scenario in paper().scenarios.items():
        found = [cell.change_percent for _, cell, _, scenario_of in cells() if scenario_of == name]
        known = [value for value in found if value is not None]
        assert scenario.median_change_percent == (median(known) if known else None), name


def test_x_is_where_the_footnote_has_it() -> None:
    assert {where: cell.completed for where, cell, _, _ in cells() if cell.completed is not None} == {
        "lite 24 oversubscribed": 1,
        **{f"lite {level} oversubscribed": 0 for level in (28, 32, 64, 100)},
    }


def test_warnings_begin_in_the_lite_test_where_the_text_says_so() -> None:
    table = paper()
    for name, scenario in table.scenarios.items():
        warned = [level for level, row in table.sweeps["lite"].items() if row[name].warnings]
        assert scenario.warnings_from == (warned[0] if warned else None), name
