"""Whether durability was traded away: from facts, settings of sessions, levels, and what trials read back."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from clusterbench.base.archive import RunArchive, Store
from clusterbench.base.records import TrialRecord
from clusterbench.cli import compare, main
from clusterbench.cli import results as results_command
from clusterbench.results.durability import Durability, archived, is_off, of_facts, of_run
from tests.order_entry_run import ALL_ON, PLATFORMS, record, records, write
from tests.report.test_report import Folder

P = "lab_native"
AS_SET_16 = {"clients": 16}
ON_16 = {"clients": 16, "synchronous_commit": "on"}
OFF_16 = {"clients": 16, "synchronous_commit": "off"}


def trial(levels: Mapping[str, Any] = AS_SET_16, read: Mapping[str, str] | None = None, **session: str) -> TrialRecord:
    found = record(P, "durability", levels, 1)
    evidence = {} if read is None else {"workload": {"durability": dict(read)}}
    return dataclasses.replace(found, trial=dataclasses.replace(found.trial, settings=session), evidence=evidence)


def told(facts: Mapping[str, str], *found: TrialRecord) -> Durability:
    return of_run({P: {"durability": dict(facts)} if facts else {}}, found)


# What is off.


@pytest.mark.parametrize(
    ("setting", "value", "off"),
    [
        ("fsync", "off", True), ("full_page_writes", "off", True), ("synchronous_commit", "off", True),
        ("synchronous_commit", "local", False), ("synchronous_commit", "remote_write", False),
        ("synchronous_commit", "on", False), ("fsync", "on", False), ("fsync", "false", True),
        ("autovacuum", "off", False),
    ],
)  # fmt: skip
def test_only_off_of_these_settings_trades_durability_away(setting: str, value: str, *, off: bool) -> None:
    assert is_off(setting, value) is off


def test_settings_of_set_up_are_told_with_those_that_are_off() -> None:
    kept = told({**ALL_ON, "fsync": "off", "full_page_writes": "off"})
    assert kept.platforms == {P: "not durable: fsync off, full_page_writes off"}
    assert kept.named(P) == f"{P} (not durable: fsync off, full_page_writes off)"
    assert told(ALL_ON).platforms == {}
    assert told(ALL_ON).named(P) == P


def test_older_archive_has_what_is_not_at_its_default() -> None:
    engine = {"version_number": 150018, "settings": {"synchronous_commit": "off", "work_mem": "4MB"}}
    assert of_facts({"engine": engine}) == {**ALL_ON, "synchronous_commit": "off"}
    assert of_facts({"engine": {**engine, "settings": {}}}) == ALL_ON


def test_what_is_off_on_one_instance_is_off() -> None:
    differs = {"fsync": {"-1": "on", "0": "on", "1": "off"}, "port": {"0": "6000"}}
    found = of_facts({"durability": ALL_ON, "engine": {"version_number": 90426, "settings_that_differ": differs}})
    assert found == {**ALL_ON, "fsync": "off"}


def test_nothing_is_known_of_a_platform_that_was_never_set_up_or_is_no_database() -> None:
    assert of_facts({}) == {}
    assert of_facts({"engine": {"engine": "hadoop", "settings": {"dfs.replication": "3"}}, "durability": {}}) == {}
    assert told({}).settings == {}


def test_cell_whose_level_turns_it_off_is_no_other_cell_s_affair() -> None:
    kept = told(ALL_ON, trial(ON_16, ALL_ON), trial(OFF_16, {**ALL_ON, "synchronous_commit": "off"}))
    assert kept.platforms == {}
    assert kept.cells == {P: {"durability.16.off": "not durable: synchronous_commit off"}}
    assert kept.label_of(P, "durability.16.off", "d: off (#2)") == "d: off, not durable: synchronous_commit off (#2)"
    named = "d: 16 clients, synchronous_commit off (#2)"
    assert kept.label_of(P, "durability.16.off", named) == "d: 16 clients, not durable: synchronous_commit off (#2)"
    assert kept.label_of(P, "durability.16.on", "d: on (#2)") == "d: on (#2)"


def test_level_off_is_known_without_evidence() -> None:
    assert told(ALL_ON, trial(OFF_16)).cells[P] == {"durability.16.off": "not durable: synchronous_commit off"}


def test_sessions_of_the_experiment_count_as_the_platform_s() -> None:
    assert told(ALL_ON, trial(synchronous_commit="off")).platforms == {P: "not durable: synchronous_commit off"}
    server_off = {**ALL_ON, "synchronous_commit": "off"}
    assert told(server_off, trial(synchronous_commit="on")).platforms == {}, "no session was without it"


def test_what_a_trial_read_back_counts_more_than_what_set_up_found() -> None:
    kept = told(ALL_ON, trial(read={**ALL_ON, "fsync": "off"}), trial(read=ALL_ON), trial(read=ALL_ON))
    assert kept.platforms == {P: "not durable: fsync off in 1 of 3 trials"}
    assert told({}, trial(read={**ALL_ON, "fsync": "off"})).platforms == {P: "not durable: fsync off"}


def test_what_set_up_found_off_on_any_instance_is_not_on_because_one_says_so() -> None:
    kept = told({**ALL_ON, "fsync": "off"}, trial(read=ALL_ON))
    assert kept.platforms == {P: "not durable: fsync off"}


def test_level_on_does_not_hide_that_the_rest_is_off() -> None:
    off = {**ALL_ON, "synchronous_commit": "off"}
    assert told(off, trial(ON_16, ALL_ON), trial()).platforms == {
        P: "not durable: synchronous_commit off in 1 of 2 trials"
    }


def test_it_is_kept_with_the_results_and_read_back() -> None:
    kept = told({**ALL_ON, "fsync": "off"}, trial(OFF_16))
    assert archived(json.loads(json.dumps({"durability": kept.as_json()})), {}) == kept
    assert archived({"results": []}, {P: {"durability": {**ALL_ON, "fsync": "off"}}}).platforms == {
        P: "not durable: fsync off"
    }


# The command line.


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """o1 is durable, in o2 the VM is not; both have cells that are not."""
    folder, few = tmp_path_factory.mktemp("durability"), PLATFORMS[:2]
    write(folder, records(few), run="o1")
    write(folder, records(few), {"lab_vm64": {**ALL_ON, "fsync": "off"}}, run="o2", without_evidence=True)
    return folder


def printed(two: Path, output: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    store = cast(Store, Folder(two))
    monkeypatch.setenv("COLUMNS", "300")
    for module in (results_command, compare):
        monkeypatch.setattr(module, "archive_of", lambda run: RunArchive(store, "order_entry", run))
    assert main.main(list(arguments)) == 0
    return " ".join(re.sub(r"[│┃━─┏┓┗┛┡┩╇└┘┴├┤┼]", " ", output.readouterr().out).split())


def test_results_say_it_of_platform_and_cell(
    two: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = printed(two, capsys, monkeypatch, "results", "o1")
    assert "(not durable" not in said
    assert said.count("not durable: synchronous_commit off") == 2, "a cell of either platform"
    found = json.loads(printed(two, capsys, monkeypatch, "results", "o2", "--json"))
    assert found["durability"]["platforms"] == {"lab_vm64": "not durable: fsync off"}
    labels = [one["label"] for one in found["results"] if "off" in one["label"]]
    assert all(label.endswith(" clients, not durable: synchronous_commit off") for label in labels)
    assert len(labels) == 2
    shown = printed(two, capsys, monkeypatch, "results", "o2")
    assert shown.count("lab_vm64") == shown.count("lab_vm64 (not durable: fsync off)") == 7, (
        "in the table and in the sentences above it"
    )


def test_comparison_says_which_of_the_two_is_not_durable(
    two: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = printed(two, capsys, monkeypatch, "compare", "o1", "o2", "--platform", "lab_vm64")
    assert "B (not durable: fsync off)" in said
    assert "A (not durable" not in said
    assert "B (not durable" not in printed(two, capsys, monkeypatch, "compare", "o1", "o2", "--platform", "lab_native")
    assert "not comparable: B is not durable: fsync off" in said
    found = json.loads(printed(two, capsys, monkeypatch, "compare", "o1", "o2", "--json"))
    assert {pair["a"]: pair["durability"] for pair in found["platforms"]} == {
        "lab_native": ["", ""],
        "lab_vm64": ["", "not durable: fsync off"],
    }
