"""What sessions waited for: read from looks at them, within the window by the client's clock."""

from __future__ import annotations

import dataclasses
import gzip
from pathlib import Path

import pytest

from clusterbench.base.measurements import Reading
from clusterbench.trial import waits

WINDOW = Reading({}, window_start_s=100.0, window_end_s=101.0)


def look(time_s: float, *lines: tuple[str, str, str, int], told: str = "-") -> str:
    rows = [*lines, ("look", told, "-", 0)]
    return "".join(f"{time_s:.3f}\t{kind}\t{event}\t{statement}\t{count}\n" for kind, event, statement, count in rows)


def noted(folder: Path, *looks: str, errors: str = "") -> Path:
    (folder / "client").mkdir()
    with gzip.open(folder / "client" / "telemetry.watch.gz", "wt") as file:
        file.write("".join(looks))
    (folder / "client" / "telemetry.watch_errors").write_text(errors)
    return folder


def test_sessions_are_means_over_all_looks_of_the_window(tmp_path: Path) -> None:
    found, measured = waits.read(
        noted(
            tmp_path,
            look(99.9, ("Lock", "relation", "query 1", 8)),
            look(100.0, ("CPU", "-", "query 1", 2), ("Lock", "relation", "query 2", 2)),
            look(100.5, ("CPU", "-", "query 1", 4)),
            look(101.0),
            look(101.1, ("IO", "DataFileRead", "query 1", 8)),
        ),
        WINDOW,
    )
    assert found == {
        "looks": 3,
        "waits": [
            {"type": "CPU", "event": "-", "statement": "query 1", "sessions": 2.0},
            {"type": "Lock", "event": "relation", "statement": "query 2", "sessions": 0.6667},
        ],
        "course": {"second": [0.5], "sessions_on_cpu": [2.0], "sessions_waiting_for_locks": [0.67]},
    }
    assert {name: round(value, 3) for name, value in measured.items()} == {
        "sessions_on_cpu": 2.0,
        "sessions_waiting_for_locks": 0.667,
        "sessions_waiting_for_latches": 0.0,
        "sessions_waiting_for_io": 0.0,
        "sessions_waiting_for_clients": 0.0,
        "sessions_waiting_for_others": 0.0,
    }


def test_sessions_over_time_are_means_of_each_second_s_looks(tmp_path: Path) -> None:
    on_cpu, waiting = ("CPU", "-", "query 1", 3), ("IPC", "BgWorkerShutdown", "-", 2)
    folder = noted(tmp_path, look(100.2, on_cpu), look(100.7, on_cpu, waiting), look(102.0, waiting))
    found, _ = waits.read(folder, dataclasses.replace(WINDOW, window_end_s=103.0))
    assert found["course"] == {  # nobody looked in the second second
        "second": [0.5, 2.5],
        "sessions_on_cpu": [3.0, 0.0],
        "sessions_waiting_for_others": [1.0, 2.0],
    }


def test_greenplum_6_tells_work_from_locks_and_what_else_it_waited_for_is_not_known(tmp_path: Path) -> None:
    told = "Work,Lock,Replication,Resgroup"
    files = [("0 Sort", 30_000_000), ("3 Sort", 90_000_000)]
    of_query_7 = [("workfiles", event, "query 7", size) for event, size in files]
    folder = noted(
        tmp_path,
        look(
            100.1,
            ("Work", "on segments", "query 7", 2),
            *of_query_7,
            ("workfiles", "3 HashJoin", "-", 5_000_000),
            told=told,
        ),
        look(100.6, ("Lock", "on segments", "query 7", 1), ("Resgroup", "-", "query 9", 1), *of_query_7[1:], told=told),
    )
    found, measured = waits.read(folder, WINDOW)
    assert measured == {"sessions_at_work": 1.0, "sessions_waiting_for_locks": 0.5, "sessions_waiting_for_others": 0.5}
    assert [(one["type"], one["event"]) for one in found["waits"]] == [
        ("Work", "on segments"),
        ("Lock", "on segments"),
        ("Resgroup", "-"),
    ]
    assert found["work_files"] == {
        "peak_mb": 125.0,
        "largest": {"segment": 3, "peak_mb": 95.0},
        "segments": 2,
        "operations": [
            {"operation": "Sort", "statement": "query 7", "mean_mb": 105.0},
            {"operation": "HashJoin", "statement": "-", "mean_mb": 2.5},
        ],
    }


def test_who_held_locks_is_told_beside_the_waits_and_is_no_session_that_waited(tmp_path: Path) -> None:
    held = ("held", "psql", "LOCK TABLE a", 1)
    folder = noted(
        tmp_path,
        look(100.1, ("Lock", "relation", "query 2", 2), held),
        look(100.2, ("Lock", "relation", "query 2", 2), held, ("held", "-", "VACUUM FULL a", 1)),
        look(100.3, ("CPU", "-", "query 2", 2)),
    )
    found, measured = waits.read(folder, WINDOW)
    assert found["held_by"] == [
        {"application": "psql", "statement": "LOCK TABLE a", "looks": 2},
        {"application": "-", "statement": "VACUUM FULL a", "looks": 1},
    ]
    assert (found["looks"], sum(measured.values())) == (3, pytest.approx(2.0))


def test_looks_are_told_by_the_server_s_clock(tmp_path: Path) -> None:
    folder = noted(tmp_path, look(107.5, ("IPC", "BgWorkerShutdown", "-", 1)))
    assert waits.read(folder, WINDOW) == ({}, {})
    found, measured = waits.read(folder, WINDOW, ahead_s=7.0)
    assert (found["looks"], measured["sessions_waiting_for_others"]) == (1, 1.0)


def test_a_last_line_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    folder = noted(tmp_path, look(100.2, ("CPU", "-", "-", 1)), "100.300\tCPU\t-\tque")
    assert waits.read(folder, WINDOW)[0]["looks"] == 1


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ("", {}),
        ("psql: error: too many clients\n", {"problem": "sessions were not watched: psql: error: too many clients"}),
    ],
)
def test_why_nothing_was_looked_at_is_told(tmp_path: Path, errors: str, said: dict[str, str]) -> None:
    assert waits.read(noted(tmp_path, errors=errors), WINDOW) == (said, {})
    assert waits.read(tmp_path / "nowhere", WINDOW) == ({}, {})
