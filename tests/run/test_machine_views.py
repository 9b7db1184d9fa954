"""The hypervisor's view of a trial, of one that keeps no samples: from what is noted before it and after it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("libvirt", reason="libvirt's Python package could not be compiled here (make setup)")

from clusterbench.base.errors import MachineAwayError
from clusterbench.machines import switch
from clusterbench.run import machines
from tests.machines.libvirt_hosts import Hosts
from tests.machines.test_libvirt import platform

PLATFORM = platform()


class Archive:
    """A run's, in memory."""

    sealed = False

    def __init__(self) -> None:
        self.objects: dict[str, str] = {"plan.json": '{"trials": {}}'}
        self.records: dict[str, Any] = {}

    def put_json(self, key: str, value: Any) -> None:
        self.objects[key] = json.dumps(value)

    def get_json(self, key: str) -> Any:
        return json.loads(self.objects[key]) if key in self.objects else None

    need_json = get_json

    def keys(self, prefix: str) -> list[str]:
        return sorted(key for key in self.objects if key.startswith(prefix))

    def trial(self, _platform: str, trial_id: str) -> Any:
        return self.records.get(trial_id)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    hosts, archive = Hosts(tmp_path), Archive()
    trials = [SimpleNamespace(id=name, platform="vm2") for name in ("t1", "t2")]

    @contextmanager
    def opened(*_: Any) -> Iterator[Any]:
        with hosts.opened() as hypervisor:
            yield hypervisor

    monkeypatch.setattr(machines, "hypervisor_of", opened)
    monkeypatch.setattr(machines, "_client_ahead_s", lambda *_: 0.0)
    with hosts.opened() as hypervisor:
        switch.bring_up(PLATFORM, hypervisor, "r")
    return SimpleNamespace(
        archive=archive,
        connections=None,
        plan=lambda: SimpleNamespace(trials={"vm2": trials}),
        measured=lambda name, window: archive.records.update(
            {
                name: SimpleNamespace(
                    trial=next(trial for trial in trials if trial.id == name),
                    window_start_s=window[0],
                    window_end_s=window[1],
                )
            }
        ),
    )


def view(run: Any, trial: str) -> Any:
    return run.archive.get_json(f"trials/vm2/{trial}/hypervisor.json")


def test_totals_are_noted_before_each_trial_and_at_release_and_each_view_is_from_those_around_it(run: Any) -> None:
    machines.collect_views(run, PLATFORM, before="t1")
    assert run.archive.keys("platforms/vm2/machines/totals") and view(run, "t1") is None
    run.measured("t1", _window())
    machines.collect_views(run, PLATFORM, before="t2")
    run.measured("t2", _window())
    machines.collect_views(run, PLATFORM)
    assert len(run.archive.keys("platforms/vm2/machines/totals")) == 3
    for trial in ("t1", "t2"):
        told = view(run, trial)
        assert "keeps no samples" in told["remark"] and 0 < told["window_share"] <= 1
        assert told["interval_s"] < 5, "of those next to the window, and no others"


def test_a_view_without_totals_before_its_window_says_so(run: Any) -> None:
    run.measured("t1", _window())
    machines.collect_views(run, PLATFORM, before="t2")
    assert "totals were not noted both before and after this window" in view(run, "t1")["problem"]
    assert view(run, "t1")["machines"] == {}


def test_a_host_that_is_away_costs_no_trial(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def away(*_: Any) -> Iterator[Any]:
        raise MachineAwayError("libvirt host server1 is away")
        yield

    monkeypatch.setattr(machines, "hypervisor_of", away)
    run.measured("t1", _window())
    machines.collect_views(run, PLATFORM, before="t2")
    assert view(run, "t1") is None, "it is asked for again"
    machines.collect_views(run, PLATFORM)
    assert view(run, "t1") == {"problem": "libvirt host server1 is away"}


def _window() -> tuple[float, float]:
    """One that has just been."""
    start = time.time()
    time.sleep(0.02)
    return start, time.time()
