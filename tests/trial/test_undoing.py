"""What a trial has set and started is undone at once, each part whatever becomes of the others."""

from __future__ import annotations

import threading

import pytest

from clusterbench.base.errors import HostError
from clusterbench.trial import undoing


def test_parts_are_undone_at_once_and_one_that_fails_is_told(caplog: pytest.LogCaptureFixture) -> None:
    met = threading.Barrier(3, timeout=30)  # one after the other they would wait for each other in vain
    done = []

    def part(name: str) -> None:
        met.wait()
        if name == "vm2":
            raise HostError("host 'vm2' does not answer")
        done.append(name)

    undoing.each_done([lambda name=name: part(name) for name in ("vm1", "vm2", "vm3")], "after the trial")
    assert sorted(done) == ["vm1", "vm3"]
    assert caplog.messages == ["after the trial: host 'vm2' does not answer"]


def test_a_fault_of_ours_is_no_warning() -> None:
    with pytest.raises(ZeroDivisionError):
        undoing.each_done([lambda: 1 // 0], "after the trial")


def test_nothing_is_nothing() -> None:
    undoing.each_done([], "after the trial")
