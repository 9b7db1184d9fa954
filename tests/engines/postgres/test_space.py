"""What fits on the disks of a cluster."""

from __future__ import annotations

from clusterbench.engines.postgres.space import free_for_rows


def test_free_space_is_bounded_by_the_fullest_file_system() -> None:
    """Two segments share sdb of one: each may take half of its 80; two is fuller: 30 for its only one."""
    assert free_for_rows(["one /dev/sdb 80", "one /dev/sdb 80", "two /dev/sdb 30"], primaries=3) == 90
    assert free_for_rows([], primaries=3) == 0
