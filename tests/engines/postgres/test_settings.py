"""The block of our settings in a server's configuration file."""

from __future__ import annotations

import pytest

from clusterbench.engines.postgres import settings


@pytest.mark.parametrize(
    ("wanted", "keep", "block"),
    [
        ({}, False, ""),
        (
            {"fsync": "on"},
            False,
            "# clusterbench begin: until the cluster is released\nfsync = 'on'\n# clusterbench end\n",
        ),
        ({"fsync": "on"}, True, "# clusterbench begin: kept\nfsync = 'on'\n# clusterbench end\n"),
        (
            {"log_line_prefix": "it's \\t%m' "},
            True,
            "# clusterbench begin: kept\nlog_line_prefix = 'it''s \\\\t%m'' '\n# clusterbench end\n",
        ),
    ],
)
def test_settings_are_written_as_one_block(wanted: dict[str, str], keep: bool, block: str) -> None:
    assert settings.block(wanted, keep=keep) == block
