"""Leave to act: what is not allowed is told with the line that would allow it."""

from __future__ import annotations

from typing import get_args

import pytest

from clusterbench.base.paths import project_root
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.leave import LEAVES, Leave, why_not

LAB_DB1 = Catalog(project_root()).platform("lab_db1")


def test_every_leave_says_what_it_is_for_and_is_in_the_reference() -> None:
    reference = (project_root() / "docs" / "reference.md").read_text()
    assert set(LEAVES) == set(get_args(Leave))
    for leave in LEAVES:
        assert f"\n| `{leave}` | " in reference


def test_a_new_platform_may_be_looked_at_only() -> None:
    for name in ("postgresql_cluster", "greenplum_cluster"):
        file = project_root() / "include" / "platforms" / f"{name}.yaml"
        assert Catalog(project_root()).read_platform(file).may == []


@pytest.mark.parametrize("name", ["lab_db1", "lab_base/vm2"])
def test_what_is_missing_is_told_with_the_line_to_write(name: str) -> None:
    platform = LAB_DB1.model_copy(update={"platform": name, "may": ["evict"]})
    assert why_not(platform, "evict") == ""
    assert why_not(platform, "evict", "restart", "drop_caches") == (
        "the platform's file does not let clusterbench stop and start the engine's servers, for cold caches and for "
        "settings that are read at start; or empty the page cache of whole hosts, as root; to allow it, write 'may: "
        f"[evict, restart, drop_caches]' into include/platforms/{name.split('/', maxsplit=1)[0]}.yaml"
    )
