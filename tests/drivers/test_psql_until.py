"""Streams that go on until it is enough: what psql left is read back, also where it was ended in a statement."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterbench.drivers import psql_until
from clusterbench.drivers.psql_until import Done
from clusterbench.engines import Endpoint

ENDPOINT = Endpoint("db1", 5432, "bench", "bench", "secret")


def test_statements_follow_one_another_and_the_one_that_was_cut_off_is_none(tmp_path: Path) -> None:
    (tmp_path / "clock.1").write_text("100.5\n")
    (tmp_path / "times.1").write_text("Time: 500.000 ms\nTime: 1500.000 ms\nTime: 250.000 ms (00:00.250)\n")
    assert psql_until.read(tmp_path, {1: 2}) == [
        Done(1, 1, 100.5, 101.0),
        Done(1, 2, 101.0, 102.5),
        Done(1, 3, 102.5, 102.75),
    ]


def test_errors_belong_to_the_round_in_which_they_happened(tmp_path: Path) -> None:
    """Of three statements a round: the second fails in the first round, the third and the second in later ones."""
    (tmp_path / "clock.1").write_text("0\n")
    (tmp_path / "times.1").write_text("Time: 1.0 ms\n" * 9)
    (tmp_path / "errors.1").write_text(
        "psql:first.1.sql:4: ERROR:  one\nDETAIL:  more\npsql:first.1.sql:6: NOTICE:  none\n"
        "psql:again.1.sql:6: ERROR:  two\npsql:again.1.sql:4: ERROR:  three\n"
    )
    errors = {one.number: one.error for one in psql_until.read(tmp_path, {1: 3}) if one.error}
    assert errors == {2: "ERROR:  one", 6: "ERROR:  two", 8: "ERROR:  three"}


def test_a_stream_that_never_began_has_done_nothing(tmp_path: Path) -> None:
    assert psql_until.read(tmp_path, {1: 2, 2: 2}) == []


@pytest.mark.parametrize("streams", [1, 100])
def test_scripts_stay_small_however_long_it_takes(streams: int) -> None:
    made = psql_until.job([["SELECT 1", "SELECT 2"]] * streams, ENDPOINT)
    assert sum(map(len, made.files.values())) < 20_000 * streams
    assert made.files["first.1.sql"].splitlines()[:2] == ["\\o answer.1.1", "SELECT 1;"]
    assert made.files["again.1.sql"].splitlines()[:2] == ["\\o /dev/null", "SELECT 1;"]
    assert "secret" in made.secrets["pgpass"] and "secret" not in "".join(made.files.values())
