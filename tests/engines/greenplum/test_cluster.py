"""What a cluster says of itself: its product, and settings that are not the same everywhere."""

from __future__ import annotations

import pytest

from clusterbench.engines.greenplum.cluster import product_of, settings_that_differ


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (
            "PostgreSQL 9.4.26 (Greenplum Database 6.24.3 build commit:25d3498a400ca5230e81abb94861f23389315213) on "
            "x86_64-unknown-linux-gnu, compiled by gcc (Debian 12.2.0-14+deb12u1) 12.2.0, 64-bit",
            ("Greenplum Database", "6.24.3"),
        ),
        ("PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu", ("unknown", "unknown")),
    ],
)
def test_product_is_read_from_the_version(version: str, expected: tuple[str, str]) -> None:
    assert product_of(version) == expected


def test_settings_differ_by_value_or_by_being_set_only_somewhere() -> None:
    rows = [
        *({"content": c, "name": "port", "value": str(6100 + c)} for c in (-1, 0, 1)),
        *({"content": c, "name": "fsync", "value": "on"} for c in (-1, 0, 1)),
        {"content": 1, "name": "work_mem", "value": "65536"},
    ]
    assert settings_that_differ(rows) == {"port": {"-1": "6099", "0": "6100", "1": "6101"}, "work_mem": {"1": "65536"}}
