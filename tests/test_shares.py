"""Shares of the long tests: all of them together are all tests, each once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.conftest import SPLIT, outside_share


@dataclass(frozen=True)
class Item:
    nodeid: str
    is_long: bool

    def get_closest_marker(self, name: str) -> bool | None:
        return (self.is_long and name == "long") or None


ITEMS: list[Any] = [Item(f"tests/test_{module}.py::test_{n}", n > 0) for module in "abcdefg" for n in range(3)]


@pytest.mark.parametrize("shares", [1, 2, 5, 9])
def test_each_long_test_is_in_one_share_and_the_others_are_in_all(shares: int) -> None:
    left = [outside_share(f"{share}/{shares}", ITEMS) for share in range(1, shares + 1)]
    for item in ITEMS:
        assert sum(item not in outside for outside in left) == (1 if item.is_long else shares), item


def test_a_module_is_in_one_share_unless_its_tests_are_shared_out() -> None:
    split = min(SPLIT)
    items: list[Any] = [Item(f"{module}::test_{n}", True) for module in ("tests/test_a.py", split) for n in range(3)]
    shares = [[item for item in items if item not in outside_share(f"{n}/4", items)] for n in (1, 2, 3, 4)]
    assert shares == [items[:3], *([item] for item in items[3:])]


@pytest.mark.parametrize("said", ["0/5", "6/5", "2", "1/0", "a/b", "1/5x"])
def test_a_share_that_is_none_is_refused(said: str) -> None:
    with pytest.raises(pytest.UsageError, match="write K/N with K from 1 to N, such as 2/5"):
        outside_share(said, ITEMS)
