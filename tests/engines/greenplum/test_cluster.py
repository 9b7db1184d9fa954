"""What a cluster says of itself: settings that are not the same everywhere."""

from __future__ import annotations

from clusterbench.engines.greenplum.cluster import settings_that_differ


def test_settings_differ_by_value_or_by_being_set_only_somewhere() -> None:
    rows = [
        *({"content": c, "name": "port", "value": str(6100 + c)} for c in (-1, 0, 1)),
        *({"content": c, "name": "fsync", "value": "on"} for c in (-1, 0, 1)),
        {"content": 1, "name": "work_mem", "value": "65536"},
    ]
    assert settings_that_differ(rows) == {"port": {"-1": "6099", "0": "6100", "1": "6101"}, "work_mem": {"1": "65536"}}
