"""What a person sees of a DAG before it runs: its form, its tags, and the text of its page."""

from __future__ import annotations

from typing import get_args

from airflow.sdk import Param

from clusterbench.base.factors import say_count
from clusterbench.spec import SCALES, Experiment, Platform
from clusterbench.spec.concurrency import concurrency_levels
from clusterbench.spec.experiment import TAG, Scale
from clusterbench.spec.project import here
from clusterbench.trial.rehearsal import REHEARSE_MAX

WORDS = ("note", "tags")
"""Parameters of every form in which a person says something about the run."""
OPTIONAL_TEXT, OPTIONAL_LIST = ["string", "null"], ["array", "null"]
"""Types of parameters that may be left empty. Without null, Airflow's form cannot be sent while one is."""


def _said_order(experiment: Experiment) -> str:
    if not experiment.platforms_in_turns:
        return "They are measured one after the other."
    named = ", ".join(experiment.platforms_in_turns)
    return f"In turns, their trials alternating: {named}. All others are measured one after the other."


def form(experiment: Experiment, platforms: list[Platform]) -> dict[str, Param]:
    """The parameters of a run, as Airflow's form shows them; every value is checked by its JSON schema."""
    names = [platform.platform for platform in platforms]
    sweeps = list(experiment.sweeps)
    by_scale = {scale: concurrency_levels(experiment, scale) for scale in get_args(Scale)}
    concurrency = "; ".join(f"{scale} {', '.join(map(str, levels)) or 'none'}" for scale, levels in by_scale.items())
    return {
        "scale": Param(
            experiment.default_scale,
            type="string",
            enum=list(SCALES),
            title="Scale",
            description="The size. smoke: as small as possible, about a minute. laptop: fits on one small machine, "
            "minutes to hours. full: the sizes of the paper.",
        ),
        "platforms": Param(
            experiment.platforms,
            type="array",
            items={"type": "string", "enum": names},
            minItems=1,
            examples=names,
            values_display={platform.platform: platform.title for platform in platforms},
            title="Platforms",
            description=f"Which platforms to measure. {_said_order(experiment)}",
        ),
        "sweeps": Param(
            sweeps,
            type="array",
            items={"type": "string", "enum": sweeps},
            minItems=1,
            examples=sweeps,
            values_display={name: sweep.title for name, sweep in experiment.sweeps.items()},
            title="Sweeps",
            description="Which sweeps to run. All are chosen; remove those that you do not need.",
        ),
        "concurrency": Param(
            [],
            type=OPTIONAL_LIST,
            items={"type": "integer", "minimum": 1, "maximum": 10000},
            title="Concurrency levels",
            description="Only these levels, in sweeps that vary concurrency; empty for all. Declared are: "
            f"{concurrency}.",
        ),
        "cells": Param(
            [],
            type=OPTIONAL_LIST,
            items={"type": "string", "maxLength": 500},
            title="Cells",
            description="Only these cells, named as on a page or in results.json, such as concurrency: 8 clients. "
            "One a line; empty for all.",
        ),
        "levels": Param(
            [],
            type=OPTIONAL_LIST,
            items={"type": "string", "maxLength": 500},
            title="Levels",
            description="Fix a factor at one level in every sweep that has it, such as statements=q01. One a line; "
            "empty: as the sweeps declare.",
        ),
        "generate_only": Param(
            False,
            type="boolean",
            title="Generate only",
            description="Generate and check the data, and measure nothing.",
        ),
        "repetitions": Param(
            0,
            type="integer",
            minimum=0,
            maximum=1000,
            title="Repetitions",
            description="How often each cell is measured; 0: as the sweep declares. Fewer than 3 give no interval.",
        ),
        "profile": Param(
            False,
            type="boolean",
            title="Profile",
            description="Measure each cell once more while perf samples the processors; the report then has flame "
            "graphs. These trials do not count in the results.",
        ),
        "rehearse": Param(
            1,
            type="integer",
            minimum=1,
            maximum=REHEARSE_MAX,
            title="Rehearse, sizes divided by",
            description="Only with scale full: divides every size (rows, warehouses, scale factor) by this number, and "
            "shortens trials. 1: no rehearsal.",
        ),
        "seed": Param(
            experiment.seed,
            type="integer",
            minimum=0,
            maximum=2**31 - 1,
            title="Seed",
            description="Fixes data, keys and the order of trials. With another seed other data is generated first.",
        ),
        **words_form(),
    }


def words_form() -> dict[str, Param]:
    """What a person writes about the run that they start."""
    return {
        "note": Param(
            None,
            type=OPTIONAL_TEXT,
            maxLength=2000,
            title="Note",
            description="Why this run is made. It is shown with the run in reports, lists and pages.",
        ),
        "tags": Param(
            [],
            type=OPTIONAL_LIST,
            items={"type": "string", "pattern": TAG, "maxLength": 64},
            title="Tags",
            description="Words to find the run by, such as before_upgrade. One a line.",
        ),
    }


def tags() -> list[str]:
    """Of each DAG; by the project's name Airflow's list shows one team's."""
    project = here()
    return ["benchmark", *([project.project] if project else [])]


def documentation(experiment: Experiment) -> str:
    """The text of the DAG's page in the UI: the question, the sweeps with their levels, and what each state means."""
    rows = []
    for name, sweep in experiment.sweeps.items():
        factors = "; ".join(
            f"{factor}: {', '.join(_say(level) for level in sweep.levels(factor, 'full'))}" for factor in sweep.factors
        )
        rows.append(f"| `{name}` | {sweep.title} | {factors} |")
    table = "\n".join(["| sweep | question | levels at full scale |", "|---|---|---|", *rows])
    return (
        f"# {experiment.title}\n\n{experiment.description}\n\n{table}\n\n"
        "A red trial failed, timed out or is invalid. A pink trial is not applicable, or not needed. The reason is in "
        "its log. A trial is measured once in a run: if you clear it, its record is collected again, but its driver "
        "does not run again. To measure again, start a new run."
    )


def _say(level: object) -> str:
    return say_count(level) if isinstance(level, int) and not isinstance(level, bool) else str(level)
