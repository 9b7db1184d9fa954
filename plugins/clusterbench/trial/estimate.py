"""A plan -> what it needs of each platform: time, disk by the role of a host, and every cell's needs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterbench.base.datasets import Dataset
from clusterbench.base.records import Trial
from clusterbench.engines import engine_class
from clusterbench.engines.capacity import cpus
from clusterbench.spec import Platform
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.placed import data_disks
from clusterbench.trial.measured import Kind, Measured, MeasuredCell, Rate, rate, trial_time
from clusterbench.trial.needs import CellNeeds, Ground, cell_needs, ground_of, not_had
from clusterbench.trial.plan import DISK_HEADROOM, Plan
from clusterbench.workloads import WARM, load_workload, why_not
from clusterbench.workloads.needs import Needs, needs_of

GENERATION_BYTES_PER_S = 100e6
"""What one core of the lab generates (0.45 million narrow rows a second)."""
FILES_BYTES_PER_S = 60e6
"""Of load files, for each process that makes them: DuckDB's generator made 1.2 GB in 20 s."""
INSPECTION_BYTES_PER_S = 200e6
"""What one process looks at, every row with its checksum; roughly."""
DATASET_S = 1.0
"""For making a dataset and for looking at one, however small it is."""
INSPECTIONS = 2
"""Times that the check of a dataset reads it."""
DISK_BYTES_PER_S = 94e6
"""Of one disk: paper 000 read 6 TB from 64 of them in 991 s."""
HOST_BYTES_PER_S = 500e6
"""From the disks of a host whose number of disks nobody has declared: the lab's one."""
WRITTEN_TIMES = 4
"""What is generated is written and logged, frozen and checkpointed: so often it goes through the disks."""
NOTHING = "nothing is made before the first trial"
DENSITY_TIMES = {"ideal": 1.0, "base": 1.5, "oversubscribed": 2.6}
"""How many times as long a guess is, by the declared density: paper 004, Results."""


@dataclass(frozen=True)
class DiskNeed:
    """Of each host of a role."""

    role: str
    hosts: int
    bytes_each: int
    of: str
    """What it is."""
    declared_bytes: int | None = None
    refused: str = ""


@dataclass(frozen=True)
class Estimate:
    """What a plan needs of one platform before anything is touched. ``estimate_s`` is all of it, ``*_s`` its parts."""

    platform: str
    trials: int
    not_applicable: int
    dataset_bytes: int
    disk_needed_bytes: int
    files_bytes: int
    """Load files, on the ETL host, or on each host that makes them."""
    estimate_s: float
    generation_s: float
    generation_basis: str
    validation_s: float
    validation_basis: str
    trials_s: float
    seconds_by_basis: Mapping[Kind, float]
    """Of the trials."""
    runs: tuple[str, ...]
    """Whose times are used."""
    disks: tuple[DiskNeed, ...]
    cells: tuple[CellNeeds, ...]

    @property
    def refused(self) -> list[tuple[str, list[CellNeeds]]]:
        """Why something cannot be, and the cells that this is about; none where it is about the disks."""
        found: dict[str, list[CellNeeds]] = {need.refused: [] for need in self.disks if need.refused}
        for cell in self.cells:
            for why in cell.refused:
                found.setdefault(why, []).append(cell)
        return list(found.items())


def estimate(plan: Plan, catalog: Catalog, measured: Mapping[str, Measured] | None = None) -> list[Estimate]:
    """Of each platform of the plan. ``measured``: by platform, what earlier runs say of its times."""
    known = measured or {}
    return [_estimate(plan, catalog.platform(name), known.get(name, Measured())) for name in plan.trials]


def _estimate(plan: Plan, platform: Platform, measured: Measured) -> Estimate:
    name, engine = platform.platform, engine_class(platform)
    facts = measured.facts.get("engine") or {}
    unavailable = engine.unavailable_on(platform, {})
    ground = ground_of(platform, engine.capacity_on(platform, facts), measured.facts)
    datasets = [dataset for _, dataset in plan.datasets(name, unavailable)]
    made_by_trials = max((d.bytes_expected for d in plan.made_by_trials(name, unavailable)), default=0)
    cells = [_cell(trials, unavailable, measured, ground) for trials in _by_cell(plan.trials[name])]
    had = [cell for cell in cells if cell.not_applicable is None]
    dataset_bytes = ground.engines * sum(dataset.bytes_expected for dataset in datasets)
    generation_s, generation_basis = _generation(datasets, ground, measured.generated)
    validation_s, validation_basis = _validation(datasets, ground, measured.inspected)
    trials_s = sum(cell.total_s for cell in had)
    kinds: list[Kind] = ["measured", "scaled", "guess"]
    return Estimate(
        platform=name,
        trials=len(plan.trials[name]),
        not_applicable=sum(cell.trials for cell in cells) - sum(cell.trials for cell in had),
        dataset_bytes=dataset_bytes + made_by_trials,
        disk_needed_bytes=int(dataset_bytes * DISK_HEADROOM) + made_by_trials,
        files_bytes=sum(dataset.files_bytes for dataset in datasets),
        estimate_s=generation_s + validation_s + trials_s,
        generation_s=generation_s,
        generation_basis=generation_basis,
        validation_s=validation_s,
        validation_basis=validation_basis,
        trials_s=trials_s,
        seconds_by_basis={kind: sum(cell.total_s for cell in had if cell.basis == kind) for kind in kinds},
        runs=measured.runs,
        disks=tuple(_disks(datasets, made_by_trials, plan.trials[name], had, ground)),
        cells=tuple(cells),
    )


# Cells.


def _by_cell(trials: Sequence[Trial]) -> list[list[Trial]]:
    """In the order of the experiment's file, which is that of no random order: by sweep, then by levels."""
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.cell, []).append(trial)
    return sorted(found.values(), key=lambda cell: _sort_key(cell[0]))


def _sort_key(trial: Trial) -> tuple[object, ...]:
    return (trial.sweep, *((isinstance(level, str), level) for level in trial.levels.values()))


def _cell(trials: Sequence[Trial], unavailable: Mapping[str, str], measured: Measured, ground: Ground) -> CellNeeds:
    first = trials[0]
    workload = load_workload(first.workload)
    if why := why_not(first, unavailable):
        return not_had(trials, why)
    needs = needs_of(workload, first.levels, first.seed)
    guess_s = _guess_s(workload.estimate_s(first.levels), needs, first, ground)
    disk = _disk_bytes_per_s(ground)
    time, same = trial_time(first.workload, first.levels, first.seed, measured, guess_s, disk)
    found = cell_needs(trials, needs, time, ground)
    return _with_bytes_of(same, found) if same else found


def _with_bytes_of(same: MeasuredCell, cell: CellNeeds) -> CellNeeds:
    """What was read and written where nobody can say it beforehand."""
    reads = same.read_bytes if cell.read_bytes is None else cell.read_bytes
    writes = same.written_bytes if cell.written_bytes is None else cell.written_bytes
    return CellNeeds(**{**vars(cell), "read_bytes": reads, "written_bytes": writes})


def _guess_s(workload_s: float, needs: Needs, trial: Trial, ground: Ground) -> float:
    """The workload's own guess, by the density; before a warm trial its tables are read, unless they are still there.

    Whether they are nobody knows: trials come in a random order, and cold ones empty the caches.
    """
    placement = ground.platform.placement
    times = DENSITY_TIMES[placement.density] if placement and placement.density else 1.0
    warm = trial.levels.get("cache") in WARM
    return workload_s * times + (needs.relation_bytes / _disk_bytes_per_s(ground) if warm else 0.0)


# Data.


def _disk_bytes_per_s(ground: Ground) -> float:
    """All disks of all hosts that hold the rows."""
    hosts = max(1, len(_data_hosts(ground)))
    disks, _ = data_disks(ground.platform)
    return hosts * (disks * DISK_BYTES_PER_S if disks else HOST_BYTES_PER_S)


def _data_hosts(ground: Ground) -> list[str]:
    roles = ground.capacity.data_roles
    return next((found for role in roles if (found := ground.platform.hosts_with(role))), [])


def _generation(datasets: Sequence[Dataset], ground: Ground, rates: Sequence[Rate]) -> tuple[float, str]:
    """Each dataset after the other: rows by all processes, as far as the disks go.

    Neighbours have theirs made at the same time, on the same machine's processors and disks.
    """
    made = ground.engines * sum(dataset.made_bytes for dataset in datasets)
    if not made:
        return 0.0, NOTHING
    if known := rate(rates, made):
        return made / known[0], f"{known[0] / 1e6:,.1f} MB/s, as in run {known[1]}"
    processes, copies = ground.capacity.generating_processes, ground.capacity.copies
    tables = sum(d.bytes_expected for d in datasets if not d.is_loaded_by_trial)
    by_processor_s = tables / (processes * GENERATION_BYTES_PER_S)
    by_disk_s = tables * WRITTEN_TIMES * copies / _disk_bytes_per_s(ground)
    files_s = sum(dataset.files_bytes / (dataset.files_at_once * FILES_BYTES_PER_S) for dataset in datasets)
    seconds = len(datasets) * DATASET_S + ground.engines * max(by_processor_s, by_disk_s) + files_s
    return seconds, f"a guess: {processes} processes at once, {_said_disks(ground)}"


def _validation(datasets: Sequence[Dataset], ground: Ground, rates: Sequence[Rate]) -> tuple[float, str]:
    made = ground.engines * sum(dataset.made_bytes for dataset in datasets)
    if not made:
        return 0.0, NOTHING
    if known := rate(rates, made):
        return made / known[0], f"{known[0] / 1e6:,.1f} MB/s, as in run {known[1]}"
    at_once = cpus(ground.platform) or ground.capacity.generating_processes
    bytes_per_s = min(at_once * INSPECTION_BYTES_PER_S, _disk_bytes_per_s(ground))
    seconds = ground.engines * len(datasets) * DATASET_S + INSPECTIONS * made / bytes_per_s
    return seconds, f"a guess: {INSPECTIONS} passes, {_said_disks(ground)}"


def _said_disks(ground: Ground) -> str:
    hosts = len(_data_hosts(ground))
    disks, _ = data_disks(ground.platform)
    each = f"{disks} disks" if disks else f"{HOST_BYTES_PER_S / 1e6:g} MB/s"
    return f"{hosts} hosts with {each} each" if hosts != 1 else f"one host with {each}"


# Disks.


def _disks(
    datasets: Sequence[Dataset],
    made_by_trials: int,
    trials: Sequence[Trial],
    cells: Sequence[CellNeeds],
    ground: Ground,
) -> list[DiskNeed]:
    needs = _needs(trials, cells)
    return [
        *_of_data(datasets, made_by_trials, needs, ground),
        *_of_files(datasets, ground.platform),
        *_of_client(needs, ground.platform),
    ]


def _needs(trials: Sequence[Trial], cells: Sequence[CellNeeds]) -> list[Needs]:
    """Of every cell that can be had."""
    had = {cell.cell for cell in cells}
    first = {trial.cell: trial for trial in trials if trial.cell in had}
    return [needs_of(load_workload(trial.workload), trial.levels, trial.seed) for trial in first.values()]


def _of_data(
    datasets: Sequence[Dataset], made_by_trials: int, needs: Sequence[Needs], ground: Ground
) -> list[DiskNeed]:
    """Rows and their mirrors, room to build them, and the largest temporary files of a trial."""
    hosts = _data_hosts(ground)
    if not hosts:
        return []
    copies = ground.capacity.copies
    rows = sum(dataset.bytes_expected for dataset in datasets)
    temporary = max((need.temporary_bytes for need in needs), default=0)
    each = (int(rows * DISK_HEADROOM) * copies + max(made_by_trials, temporary)) // len(hosts)
    (role,) = [role for role in ground.capacity.data_roles if ground.platform.hosts_with(role)][:1]
    of = "what a trial makes: input, output and map output" if made_by_trials else "tables, indexes, log"
    of += ", mirrors" if copies > 1 else ""
    of += (
        f", {temporary / len(hosts) / 1e9:,.1f} GB of temporary files" if temporary > 1e8 and not made_by_trials else ""
    )
    _, declared = data_disks(ground.platform)
    refused = ""
    if declared is not None and each > declared:
        refused = (
            f"{each / 1e9:,.1f} GB of disk on each host with the role {role!r} ({of}), and its file says "
            f"{declared / 1e9:,.1f} GB (data_disks times data_disk_gb); add hosts or disks, or choose a smaller scale "
            "or fewer sweeps"
        )
    return [DiskNeed(role, len(hosts), each, of, declared, refused)]


def _of_files(datasets: Sequence[Dataset], platform: Platform) -> list[DiskNeed]:
    """All load files stay; beside them there must be room to make the largest."""
    files = sum(dataset.files_bytes for dataset in datasets)
    work = max((dataset.files_work_bytes for dataset in datasets), default=0)
    if not files:
        return []
    role = "etl" if platform.hosts_with("etl") else "client"
    of = "load files" + (f", {work / 1e9:,.1f} GB of them while they are made" if work else "")
    return [DiskNeed(role, 1, files + work, of)]


def _of_client(needs: Sequence[Needs], platform: Platform) -> list[DiskNeed]:
    """A trial's is gone before the next one begins."""
    most = (1 + len(platform.neighbours)) * max((need.client_bytes for need in needs), default=0)
    return [DiskNeed("client", 1, most, "what the driver leaves, until it is collected")] if most else []
