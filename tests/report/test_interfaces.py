"""The table of network interfaces, and which tables of hosts a report has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from clusterbench.base.words import ABSENT
from clusterbench.report.run import platform_tables

NEW = ("disk_reads_per_s", "disk_writes_per_s")


def run_of(*interfaces: dict[str, dict[str, float]]) -> Any:
    """A trial each on one host."""
    trial = SimpleNamespace(platform="native", sweep="table_size")
    return SimpleNamespace(
        trials=[SimpleNamespace(trial=trial, telemetry={"sdw1": {"interfaces": each}}) for each in interfaces]
    )


def through(received: float, sent: float) -> dict[str, float]:
    return {"received_mb_per_s": received, "sent_mb_per_s": sent}


def test_bond_and_its_members_are_told_as_medians_over_trials() -> None:
    trials = [
        {"bond0": through(2 * n, 3.0), "ens1": through(n, 3.0), "ens2": through(n, 0.0)} for n in (100.0, 300.0, 200.0)
    ]
    rows = platform_tables.interface_rows(cast(Any, run_of(*trials)))
    assert [(row["interface"], row["received"], row["sent"]) for row in rows] == [
        ("bond0", "400", "3.00"),
        ("ens1", "200", "3.00"),
        ("ens2", "200", "0"),
    ]
    assert {(row["platform"], row["sweep"], row["host"]) for row in rows} == {("native", "table size", "sdw1")}


def test_host_with_one_interface_has_nothing_to_balance() -> None:
    run = run_of({"eth0": through(5.0, 5.0), "docker0": through(1.0, 1.0)})
    assert platform_tables.interface_rows(run) == []
    assert platform_tables.interface_rows(run_of({})) == []


def test_table_of_which_older_archives_know_nothing_is_left_out() -> None:
    names = [name for _, columns in platform_tables.HOST_TABLES for _, _, name in columns]
    known: dict[str, str] = dict.fromkeys(names, "1")
    old = {name: ABSENT if name.startswith("swap") or name in NEW else "1" for name in names}
    assert len(platform_tables.host_tables([{"means": known}])) == 3
    assert [title for title, _ in platform_tables.host_tables([{"means": old}])] == [
        "Processors",
        "Disks, network and memory",
    ]
