"""What ``clusterbench plan`` says of a rehearsal: what sizes become, and data beside memory, here and at full scale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from clusterbench.base.words import size as say_bytes
from clusterbench.engines import engine_class
from clusterbench.spec.placed import memory_bytes
from clusterbench.trial.plan import make_plan
from clusterbench.trial.rehearsal import Size, sizes

if TYPE_CHECKING:
    from clusterbench.base.factors import Level
    from clusterbench.spec import Experiment, Platform
    from clusterbench.spec.catalog import Catalog
    from clusterbench.trial.plan import Plan


def of_plan(plan: Plan, experiment: Experiment, catalog: Catalog) -> dict[str, Any] | None:
    """For ``--json``; None where nothing is rehearsed. ``memory`` is by platform; what is not declared is None."""
    by = plan.choices.rehearse
    if by == 1:
        return None
    return {
        "divided_by": by,
        "sizes": [vars(size) for size in sizes(experiment, plan.choices.sweeps, by)],
        "memory": {name: _memory(plan, experiment, catalog, name) for name in plan.trials},
    }


def lines(told: dict[str, Any]) -> Iterator[str]:
    """The same in words."""
    yield (
        f"rehearsal: every size divided by {told['divided_by']:,}, and so is how long a trial lasts, down to seconds; "
        "all else as at full scale"
    )
    of_sweep: dict[tuple[str, str], list[Size]] = {}
    for one in told["sizes"]:
        of_sweep.setdefault((one["sweep"], one["factor"]), []).append(Size(**one))
    for (sweep, factor), found in of_sweep.items():
        yield f"  {sweep}: {factor} {', '.join(map(_say_size, found))}"
    for platform, memory in told["memory"].items():
        yield f"{platform}: {_say_memory(memory)}"


def _memory(plan: Plan, experiment: Experiment, catalog: Catalog, name: str) -> dict[str, Any]:
    """Of one platform, and of the paper's that it stands for, at full scale."""
    platform = catalog.platform(name)
    here = {"largest_bytes": _largest_bytes(plan, platform), "memory_bytes": memory_bytes(platform)}
    if platform.stands_for is None:
        return {**here, "paper": None}
    paper = catalog.platform(platform.stands_for)
    choices = plan.choices.model_copy(update={"rehearse": 1, "platforms": [paper.platform]})
    largest = _largest_bytes(make_plan(experiment, choices, catalog), paper)
    return {
        **here,
        "paper": {"platform": paper.platform, "largest_bytes": largest, "memory_bytes": memory_bytes(paper)},
    }


def _largest_bytes(plan: Plan, platform: Platform) -> int:
    """Of one dataset: trials are on one at a time."""
    unavailable = engine_class(platform).unavailable_on(platform, {})
    found = (dataset.bytes_expected for _, dataset in plan.workloads(platform.platform, unavailable))
    return max(found, default=0)


def _say_size(size: Size) -> str:
    least = ", the least" if size.is_least else ""
    return f"{_number(size.full)} -> {_number(size.rehearsed)}{least}"


def _say_memory(memory: dict[str, Any]) -> str:
    if not memory["memory_bytes"]:
        return (
            f"largest data {say_bytes(memory['largest_bytes'])}; its file declares no memory, and the lab limits none"
        )
    said = f"largest data {_ratio(memory)}"
    paper = memory["paper"]
    return (
        said
        if paper is None or not paper["memory_bytes"]
        else f"{said}; {paper['platform']} at full scale {_ratio(paper)}"
    )


def _ratio(memory: dict[str, Any]) -> str:
    data, held = memory["largest_bytes"], memory["memory_bytes"]
    return f"{say_bytes(data)} on {held / 2**30:,.4g} GiB of memory, {data / held:.3g} : 1"


def _number(level: Level) -> str:
    return f"{level:,}" if isinstance(level, int) else str(level)
