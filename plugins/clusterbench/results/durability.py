"""Was durability traded away? From settings as the servers told them, and from what trials chose and read back. Pure.

With ``fsync`` off a crash of the host may lose or spoil everything, with ``full_page_writes`` off the pages that were
being written; with ``synchronous_commit`` off it loses the last commits. Each makes a database faster. Weaker levels,
such as ``local`` or ``remote_write``, still wait for the server's own disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from clusterbench.base.errors import SpecError
from clusterbench.base.factors import Level, factor_of, server_settings
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.engines import DURABILITY_SETTINGS
from clusterbench.workloads import AS_SET, Workload, load_workload

if TYPE_CHECKING:
    from clusterbench.results.statistics import Result

OFF = ("off", "false", "no", "0")
"""As the server prints it, and as people write it."""
NOT_DURABLE = "not durable: "


@dataclass(frozen=True)
class Durability:
    """Of one run. The texts are such as "not durable: fsync off"; what is durable has none."""

    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Platform -> setting -> value, where they were read back."""
    platforms: Mapping[str, str] = field(default_factory=dict)
    cells: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Platform -> cell -> what the cell's own levels trade away."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def named(self, platform: str) -> str:
        """The platform with its label, as every table and figure has it."""
        said = self.platforms.get(platform)
        return f"{platform} ({said})" if said else platform

    def label_of(self, platform: str, cell: str, label: str) -> str:
        """A cell's label, or a trial's, with what its levels trade away: "16 clients, not durable: fsync off (#1)"."""
        said = self.cells.get(platform, {}).get(cell)
        if not said:
            return label
        if (level := said.removeprefix(NOT_DURABLE)) in label:
            return label.replace(level, said, 1)
        of_cell, hash_sign, repetition = label.partition(" (#")
        return f"{of_cell}, {said}{hash_sign}{repetition}"

    def labelled(self, found: Iterable[Result]) -> list[Result]:
        """Results whose cells say it; platforms keep their names, which are keys."""
        return [replace(result, label=self.label_of(result.platform, result.cell, result.label)) for result in found]


def is_off(setting: str, value: Level) -> bool:
    """Whether this value of this setting trades durability away."""
    return setting in DURABILITY_SETTINGS and str(value).lower() in OFF


def words(names: Iterable[str]) -> str:
    """ "not durable: fsync off, full_page_writes off"; nothing where nothing is off."""
    known = set(names)
    off = [f"{name} off" for name in DURABILITY_SETTINGS if name in known]
    return NOT_DURABLE + ", ".join(off) if off else ""


def of_facts(facts: Mapping[str, Any]) -> dict[str, str]:
    """The settings as set-up found them; empty where nothing was read back, or the engine is no database.

    Archives of before they were kept by themselves have all settings that are not at their defaults, which are on. On
    many instances a setting is off where it is off on any of them.
    """
    engine = facts.get("engine") or {}
    found = dict(facts.get("durability") or {})
    if not found and "version_number" in engine:
        found = {name: str((engine.get("settings") or {}).get(name, "on")) for name in DURABILITY_SETTINGS}
    for name, values in (engine.get("settings_that_differ") or {}).items():
        if name in DURABILITY_SETTINGS:
            found[name] = next((value for value in values.values() if is_off(name, value)), found.get(name, "on"))
    return {name: found[name] for name in DURABILITY_SETTINGS if name in found}


def of_run(facts: Mapping[str, Mapping[str, Any]], records: Iterable[TrialRecord] = ()) -> Durability:
    """``facts``: of each platform. What a trial's levels do not explain is the platform's."""
    settings = {name: known for name, found in facts.items() if (known := of_facts(found))}
    by_platform: dict[str, list[TrialRecord]] = {name: [] for name in facts}
    for record in records:
        by_platform.setdefault(record.trial.platform, []).append(record)
    platforms, cells = {}, {}
    for name, found in by_platform.items():
        traded = {record.trial.cell: words(by_levels(record.trial)) for record in found}
        cells[name] = {cell: said for cell, said in traded.items() if said}
        platforms[name] = _of_platform(settings.get(name, {}), found)
    return Durability(
        settings,
        {name: said for name, said in platforms.items() if said},
        {name: found for name, found in cells.items() if found},
    )


def by_levels(trial: Trial) -> list[str]:
    """What the trial's own levels turn off."""
    return [name for name, value in _chosen(trial).items() if is_off(name, value)]


def _chosen(trial: Trial) -> dict[str, Level]:
    """Setting -> level, of the trial's factors that are such settings."""
    try:
        factors = load_workload(trial.workload).factors
    except SpecError:  # an archive may be older than this version
        return {}
    chosen = {factor.setting: trial.levels.get(name, AS_SET) for name, factor in factors.items() if factor.setting}
    chosen |= server_settings(trial.levels)
    return {name: level for name, level in chosen.items() if name in DURABILITY_SETTINGS and level != AS_SET}


def _of_platform(settings: Mapping[str, str], records: Sequence[TrialRecord]) -> str:
    if not records:
        return words(name for name, value in settings.items() if is_off(name, value))
    counts = Counter(name for record in records for name in _of_server(settings, record))
    parts = words(counts).split(", ") if counts else []
    several = len(records) > 1
    for number, name in enumerate(name for name in DURABILITY_SETTINGS if name in counts):
        if counts[name] < len(records) and several:
            parts[number] += f" in {counts[name]} of {len(records)} trials"
    return ", ".join(parts)


def _of_server(settings: Mapping[str, str], record: TrialRecord) -> list[str]:
    """What was off in a trial by no choice of its levels: as read back in it, or else at set-up.

    A trial reads back what one server says, where set-up looked at all; only a session may turn on what is off there.
    """
    read = (record.evidence.get("workload") or {}).get("durability") or {}
    of_session = {**settings, **record.trial.settings, **_chosen(record.trial)}
    own = by_levels(record.trial)
    off = [
        name for name in DURABILITY_SETTINGS if any(is_off(name, found.get(name, "")) for found in (read, of_session))
    ]
    return [name for name in off if name not in own]


def archived(results: Mapping[str, Any] | None, facts: Mapping[str, Mapping[str, Any]]) -> Durability:
    """As a run's ``results.json`` has it; of an archive of before it did, what the platforms' facts tell."""
    found = (results or {}).get("durability")
    return Durability(**found) if found else of_run(facts)


def say_level(workload: Workload | None, factor: str, level: Level, *, named: bool = False) -> str:
    """A level in the words of its factor; ``named`` puts the factor's name before a bare word: "cache warm".

    One that trades durability away says that instead.
    """
    known = factor_of(workload.factors if workload else {}, factor)
    if known and is_off(known.setting, level):
        return words([known.setting])
    said = known.say(level) if known else str(level).replace("_", " ")
    bare = known is None or known.wording == "{}"
    return f"{factor.replace('_', ' ')} {said}" if named and bare else said
