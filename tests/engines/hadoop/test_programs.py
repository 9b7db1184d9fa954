"""Programs of microbenchmarks that a host lacks."""

from __future__ import annotations

from clusterbench.engines.hadoop.programs import unavailable


def test_missing_program_is_told_with_its_hosts_and_what_to_do() -> None:
    assert unavailable({"programs_missing": {"iperf3": ["client", "worker1"]}}) == {
        "iperf3": "iperf3 is not on PATH of 'client' and 'worker1': install the package iperf3 there"
    }


def test_nothing_is_missing_where_nobody_has_looked_or_all_is_there() -> None:
    assert unavailable({}) == unavailable({"programs_missing": {}}) == {}
