"""From statements that a server has counted, or a log holds, to the files of a workload over existing tables. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from textwrap import dedent

from clusterbench.base.words import plural
from clusterbench.workloads.declared.constants import FILL_IN, Columns, Constants, Written, key_of
from clusterbench.workloads.declared.counted import Counted, tables_in

WEIGHT_MAX = 1_000_000
NONE: Mapping[str, str] = {}
CLIENTS_BELOW_MS = 200.0
"""Where statements take less on average, clients drive them; else streams."""
CONCURRENCY = {"smoke": [1, 2, 4], "laptop": [1, 4, 16], "full": [1, 16, 64]}
WINDOW = (
    "      ramp_up_s: {smoke: [1], laptop: [5], full: [60]}\n      window_s: {smoke: [3], laptop: [20], full: [300]}\n"
)


def workload(  # noqa: PLR0917  each is a part of what is written
    name: str,
    title: str,
    counted: Sequence[Counted],
    columns: Columns,
    platform: str,
    left_out: str = "",
    samples: Mapping[str, str] = NONE,
) -> Written:
    """``include/sql/<name>``, without its folder. ``left_out``: what the description says of it.

    ``samples``: of large tables how SQL takes a part of one, ``TABLESAMPLE …``.
    """
    made = Written()
    statements = []
    by_streams = is_for_streams(counted)
    for number, one in enumerate(counted, 1):
        called = f"s{number:02d}"
        text, drawn = Constants(called, one, columns, made, samples).with_names()
        made.files[f"{called}.sql"] = f"{text.rstrip()}\n"
        own = "".join(f"\n      {key}: {value}" for key, value in drawn.items())
        weight = "" if by_streams else f"    weight: {min(WEIGHT_MAX, max(1, one.calls))}\n"
        statements.append(
            f"  {called}:  # {plural(one.calls, 'call')}{f', {one.time_ms / 1e3:,.1f} s' if one.time_ms else ''}\n"
            f"    title: {json.dumps(' '.join([called, *tables_in([one])]), ensure_ascii=False)}\n{weight}"
            + (f"    parameters:{own}\n" if own else "")
        )
    tables = "".join(f"  {key_of(table)}: {{existing: {json.dumps(table)}}}\n" for table in columns)
    made.files["workload.yaml"] = _yaml(
        name, title, tables, "".join(statements), platform, left_out, by_streams=by_streams
    )
    return made


def is_for_streams(counted: Sequence[Counted]) -> bool:
    calls, time_ms = sum(one.calls for one in counted), sum(one.time_ms for one in counted)
    return bool(calls) and time_ms / calls > CLIENTS_BELOW_MS


def experiment(name: str, title: str, platform: str, *, by_streams: bool) -> str:
    """``dags/experiments/<name>.yaml``: three levels of concurrency, tables warm."""
    factor = "streams" if by_streams else "clients"
    window = "" if by_streams else WINDOW
    plots = "[response_time_s]" if by_streams else "[throughput_per_s, latency_ms_p99]"
    levels = ", ".join(f"{scale}: {counts}" for scale, counts in CONCURRENCY.items())
    return (
        f"# Written by 'clusterbench workload new'; what it measures is in include/sql/{name}.\n"
        f"experiment: {name}\ntitle: {json.dumps(title)}\n"
        f"description: >\n  The statements of include/sql/{name} by concurrency.\n"
        f"platforms: [{platform}]\nseed: 1\ndefault_scale: laptop\n\nsweeps:\n  concurrency:\n"
        f"    title: By {factor}\n    workload: {name}\n    plots: {plots}\n    factors:\n"
        f"      {factor}: {{{levels}}}\n{window}      cache: [{'as_left' if by_streams else 'ramped_up'}]\n"
        "    repetitions: {smoke: 1, laptop: 3, full: 5}\n"
    )


def _yaml(  # noqa: PLR0917  as above
    name: str, title: str, tables: str, statements: str, platform: str, left_out: str, *, by_streams: bool
) -> str:
    head = dedent(f"""\
        # Written by 'clusterbench workload new' from the statements of {platform}. docs/workload.md explains each key
        # means. What says '{FILL_IN}' is to be filled in.
        workload: {name}
        title: {json.dumps(title)}
        description: >
          Statements over tables that are there; nothing is changed.{f" {left_out}" if left_out else ""}
        driven_by: {"streams" if by_streams else "clients"}

        tables:
        """)
    return f"{head}{tables}\nstatements:\n{statements}\nanswers: none  # nobody checks them; see docs/workload.md\n"
