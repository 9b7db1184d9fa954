"""What hypervisors saw of a run's trials, as its archive has it. See ``run/machines.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusterbench.base.archive import RunArchive
from clusterbench.base.in_parallel import in_parallel
from clusterbench.base.records import TrialRecord

Views = Mapping[tuple[str, str], Mapping[str, Any]]
"""(platform, trial id) -> the view; of platforms whose machines a run made."""


def key_of(platform: str, trial_id: str) -> str:
    """Where the archive has a trial's view."""
    return f"trials/{platform}/{trial_id}/hypervisor.json"


def gathered(archive: RunArchive, records: Sequence[TrialRecord], platforms: Sequence[str]) -> Views:
    """Of the trials of ``platforms``. One without a view is left out."""
    asked = [(one.trial.platform, one.trial.id) for one in records if one.trial.platform in platforms]
    found = in_parallel(lambda key: archive.get_json(key_of(*key)), asked)
    return {key: view for key, view in zip(asked, found, strict=True) if view}


OTHERS_PERCENT_MIN = 1.0
"""Of its vCPUs' time: another machine that used less while a trial was measured is no noise."""


def busy_others(view: Mapping[str, Any]) -> dict[str, float]:
    """Machines of nobody in the layout that were busy on its hosts meanwhile, the busiest first -> percent."""
    busy = {name: float(told.get("cpu_percent") or 0.0) for name, told in (view.get("others") or {}).items()}
    noise = {name: percent for name, percent in busy.items() if percent >= OTHERS_PERCENT_MIN}
    return dict(sorted(noise.items(), key=lambda item: -item[1]))
