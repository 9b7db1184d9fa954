"""Which host is slower than its peers, or than it was."""

from __future__ import annotations

from clusterbench.hosts.speed import Speeds, rounds
from clusterbench.results.stragglers import find, slow_in

CPU, MEMORY = "processor_events_per_s", "memory_mib_per_s"
ROLES = {**{f"segment{n}": ["segment"] for n in range(1, 5)}, "client": ["client"]}
ALIKE = {host: {CPU: 1000.0, MEMORY: 20_000.0} for host in ROLES}


def with_(host: str, **values: float) -> dict[str, dict[str, float]]:
    return {**ALIKE, host: {**ALIKE[host], **values}}


def test_a_host_slower_than_its_peers_is_named_and_they_are_not() -> None:
    (one,) = find(with_("segment2", processor_events_per_s=600.0), ROLES, [], 10)
    assert str(one) == "segment2: processors 40 % slower than its 3 peers (600 instead of 1 000)".replace(
        "40 %", "40\u202f%"
    ).replace("1 000", "1\u202f000")
    assert slow_in([one], list(ROLES))["segment2"] == "processors"
    assert slow_in([one], list(ROLES))["segment1"] == "nothing"


def test_a_host_that_is_nearly_as_fast_is_not_named() -> None:
    assert find(with_("segment2", processor_events_per_s=910.0), ROLES, [], 10) == []


def test_hosts_of_other_roles_are_no_peers() -> None:
    assert find(with_("client", processor_events_per_s=100.0), ROLES, [], 10) == []


def test_a_host_without_peers_is_compared_with_itself() -> None:
    slow = with_("client", memory_mib_per_s=9_000.0)
    (one,) = find(slow, ROLES, [ALIKE] * 3, 10)
    assert str(one).startswith("client: memory 55")
    assert "than in 3 measurements before" in str(one)
    assert find(slow, ROLES, [ALIKE] * 2, 10) == []  # too few to know


def test_a_new_normal_is_known_after_some_measurements() -> None:
    slow = with_("client", memory_mib_per_s=9_000.0)
    assert find(slow, ROLES, [ALIKE] * 4 + [slow] * 6, 10) == []


def test_each_host_sends_and_receives_once_and_is_in_one_pair_at_a_time() -> None:
    for count in range(2, 12):
        hosts = [f"host{n}" for n in range(count)]
        made = list(rounds(hosts))
        assert len(made) <= 3  # however many hosts there are
        for pairs in made:
            in_pairs = [host for pair in pairs for host in pair]
            assert len(in_pairs) == len(set(in_pairs))
        senders = [one for pairs in made for one, _ in pairs]
        assert sorted(senders) == sorted(hosts if count > 2 else hosts[:1])
    assert list(rounds(["alone"])) == []


def test_what_was_said_is_read_by_its_names() -> None:
    found = Speeds()
    found.note("db1", f"{CPU} 812.5\nWARNING: something\nunknown_per_s 3\n")
    assert found.hosts == {"db1": {CPU: 812.5}}
