"""What is said of many hosts that fail at once."""

from __future__ import annotations

import pytest

from clusterbench.base.errors import HostAwayError, HostError
from clusterbench.hosts.fleet import raise_all


def away(number: int, why: str = "[Errno 32] Broken pipe") -> HostAwayError:
    said = f"host worker{number} (bench@10.0.0.{number}:22): cannot be reached: {why}; is sshd running there?"
    return HostAwayError(said)


def test_many_hosts_that_fail_alike_are_told_once_with_all_their_names() -> None:
    failures = [*(away(number) for number in range(1, 9)), away(9, "Connection lost"), HostError("host x (y): no")]
    with pytest.raises(HostError) as found:
        raise_all(failures)
    lines = str(found.value).splitlines()
    assert lines[:3] == [str(each) for each in failures[:3]]
    assert lines[3] == "and 5 more hosts the same: worker4, worker5, worker6, worker7, worker8"
    assert lines[4:] == [str(failures[8]), str(failures[9])]
    assert type(found.value) is HostError, "one of them is not away"


def test_few_hosts_are_all_told() -> None:
    with pytest.raises(HostAwayError) as found:
        raise_all([away(number) for number in range(1, 5)])
    assert len(str(found.value).splitlines()) == 4
