"""The profiles of a run, as its archive has them."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clusterbench.base.archive import RunArchive
from clusterbench.base.in_parallel import in_parallel
from clusterbench.base.profiles import Profile, unfolded
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.trial.profiles import FILE


@dataclass(frozen=True)
class ProfileOfTrial:
    """``told``: what the record says of it. ``profile`` is None where nothing was sampled, and ``told`` says why."""

    trial: Trial
    told: dict[str, Any]
    profile: Profile | None

    @property
    def problems(self) -> list[str]:
        return list(self.told.get("problems") or [])


def profiles_of(archive: RunArchive, records: Sequence[TrialRecord]) -> list[ProfileOfTrial]:
    """Of the profiled trials among these records, in their order."""
    return in_parallel(lambda record: _of_trial(archive, record), [one for one in records if one.trial.profiled])


def _of_trial(archive: RunArchive, record: TrialRecord) -> ProfileOfTrial:
    trial, told = record.trial, dict(record.evidence.get("profile") or {})
    if not told:
        told = {"problems": [record.reason or "its record has no profile"]}
    kept = archive.store.get(f"{archive.prefix}trials/{trial.platform}/{trial.id}/{FILE}")
    profile = unfolded(gzip.decompress(kept).decode("utf-8").splitlines()) if kept else None
    return ProfileOfTrial(trial, told, profile)
