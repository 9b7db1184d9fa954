"""Great Expectations over facts of the data, over measurements and results. Suites are ``expectations/*.json``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from clusterbench.base.answers import CHANGED, REMEDY, TEXTS, how_digests_differ, statement_of
from clusterbench.base.paths import own_or_built_in
from clusterbench.base.records import FINDINGS, TrialRecord
from clusterbench.base.words import plural, some_of
from clusterbench.hosts import conformance
from clusterbench.hosts.resource_use import SWAP
from clusterbench.results import windows
from clusterbench.results.hypervisor_views import Views, busy_others
from clusterbench.results.statistics import Result
from clusterbench.results.verdicts import Verdict
from clusterbench.spec import Experiment
from clusterbench.workloads import load_workload

EARLIER_RUNS, NOBODY = "earlier valid runs", "nobody"
"""Whose answers are compared with where no independent engine's are."""
DIFFERENT = "different answers"
ANSWERS_SHOWN = 5
"""Statements that did not answer alike."""
BESIDE_SQL = "sql/"
"""So begins the name of a suite that is kept beside a declared workload."""
STRAGGLERS_SHOWN = 5
LONGER = "'window_s' where the workload has it, or more data or rounds"
"""What makes a window longer, of clients and of streams."""
SHORT_SHOWN = 5
"""Cells with short windows that are named."""


def validate(suite_name: str, rows: Sequence[Mapping[str, Any]]) -> list[Verdict]:
    """Verdicts of a suite on ``rows``, one an expectation. One that cannot be checked has failed, not passed."""
    import pandas as pd  # noqa: PLC0415  slow to import, and only tasks that validate need it

    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations as gx  # noqa: PLC0415  6 s and 245 MB
    from great_expectations.data_context.types.base import ProgressBarsConfig  # noqa: PLC0415

    suite_json = json.loads(_file(suite_name).read_text())
    if not rows:
        return [Verdict(suite_name, 7, "there is something to validate", False, True, "nothing was recorded")]
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    source = context.data_sources.add_pandas("facts")
    batches = source.add_dataframe_asset("facts").add_batch_definition_whole_dataframe("all")
    batch = batches.get_batch(batch_parameters={"dataframe": pd.DataFrame(list(rows))})
    suite = gx.ExpectationSuite(name=suite_name, expectations=suite_json["expectations"])
    outcome = batch.validate(suite, result_format="SUMMARY")
    return [_with_remedy(_verdict(suite_name, result.to_json_dict())) for result in outcome.results]


REMEDIES = {
    "The load driver was not the bottleneck": "give more hosts the role 'load': each drives its share of the clients "
    "(docs/placement.md, 'Several client hosts')",
}
"""By how an expectation begins, what can be done where it is not met."""


def _with_remedy(verdict: Verdict) -> Verdict:
    remedy = next((words for says, words in REMEDIES.items() if verdict.says.startswith(says)), "")
    return verdict if verdict.passed or not remedy else replace(verdict, found=f"{verdict.found}; {remedy}")


def suite_of_fact(suite: str, fact: str) -> str:
    """The suite for a fact that is rows: ``<suite>_<fact>``, or a file of the workload, ``sql/<workload>/<file>``."""
    return fact if fact.startswith(BESIDE_SQL) else f"{suite}_{fact}"


def _file(suite_name: str) -> Path:
    if suite_name.startswith(BESIDE_SQL):
        return own_or_built_in(f"include/{suite_name}")
    return own_or_built_in(f"expectations/{suite_name}.json")


def _verdict(suite_name: str, result: Mapping[str, Any]) -> Verdict:
    config = result["expectation_config"]
    meta = config.get("meta") or {}
    return Verdict(
        suite=suite_name,
        check=int(meta.get("check", 0)),
        says=str(meta.get("says") or config["type"].replace("_", " ")),
        passed=bool(result["success"]),
        critical=config.get("severity", "critical") == "critical",
        found=_found(result),
    )


UNITS = {"_mb_per_s": "MB/s", "_percent": "%", "_ms": "ms", "percent_before": "%"}
EXAMPLES = 5
"""Of values that are not as expected: so many different ones are named."""


def _found(result: Mapping[str, Any]) -> str:
    """What was seen, in few words: the unexpected values, or the error of an expectation that could not be run."""
    if raised := _raised(result.get("exception_info") or {}):
        return f"could not be checked: {raised}"
    seen = result.get("result") or {}
    if not seen:
        return ""
    if "unexpected_count" in seen:
        count, total = seen["unexpected_count"], _looked_at(seen)
        column = str((result["expectation_config"].get("kwargs") or {}).get("column") or "")
        unexpected = dict.fromkeys(f"{value}{_unit(column)}" for value in seen.get("partial_unexpected_list") or [])
        examples = ", ".join(list(unexpected)[:EXAMPLES])
        if count and column == "outcome":
            return f"{count} of {plural(total, 'trial')} {'is' if count == 1 else 'are'} {examples}"
        return f"{total - count} of {total} as expected" + (f"; not so: {examples}" if count else "")
    return f"found {seen.get('observed_value')}"


def _looked_at(seen: Mapping[str, Any]) -> int:
    """Without rows that have no value, such as trials that were not applicable: nothing was expected of them."""
    return int(seen.get("element_count", 0)) - int(seen.get("missing_count") or 0)


def _unit(column: str) -> str:
    """By the end of the column's name, as every measurement and fact has it."""
    return next((f" {unit}" for ending, unit in UNITS.items() if column.endswith(ending)), "")


def _raised(info: Mapping[str, Any]) -> str:
    """The first line of what an expectation raised; Great Expectations has one entry in all, or one a metric."""
    for entry in (info, *(value for value in info.values() if isinstance(value, Mapping))):
        if entry.get("raised_exception"):
            return str(entry.get("exception_message")).splitlines()[0]
    return ""


def passed(verdicts: Sequence[Verdict]) -> bool:
    return all(verdict.passed for verdict in verdicts if verdict.critical)


def failures(what: str, verdicts: Sequence[Verdict]) -> str:
    """A text that lists every critical expectation that failed, with what was found."""
    failed = [f"  {v.says}: {v.found}" for v in verdicts if v.critical and not v.passed]
    return f"{what} is not valid:\n" + "\n".join(failed)


def about_answers(records: Sequence[TrialRecord]) -> list[Verdict]:
    """The same statement on the same data must answer the same in every trial, also where nobody knows the answer.

    An answer has parts, such as one for each query; a trial may have some of them only.
    """
    answers: dict[tuple[str, str, int], dict[str, list[tuple[str, str]]]] = {}
    for record in records:
        driver = record.evidence.get("driver") or {}
        if answer := driver.get("answer"):
            workload = load_workload(record.trial.workload)
            dataset = workload.dataset(record.trial.levels, record.trial.seed)
            parts = answers.setdefault((record.trial.workload, dataset.name, dataset.rows), {})  # wherever it is kept
            for part, value in answer.items():
                text = (driver.get(TEXTS) or {}).get(part, "")
                parts.setdefault(part, []).append((text, json.dumps(value, sort_keys=True)))
    if not answers:
        return []
    differing = [said for (workload, _, rows), parts in answers.items() if (said := _differing(workload, rows, parts))]
    found = "; ".join(differing) or "one answer to every statement"
    found += f"; {REMEDY}" if any(DIFFERENT in one for one in differing) else ""
    return [Verdict("results", 2, "All trials of a statement gave the same answer", not differing, True, found)]


def _differing(workload: str, rows: int, parts: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    """``parts``: part of the answer -> (whose text, value) of each trial. Empty where all answered alike.

    ``rows`` is 0 where tables are somebody else's: nobody counted them.
    """
    texts = {part: {text for text, _ in seen if text} for part, seen in parts.items()}
    changed = sorted({statement_of(part) for part, found in texts.items() if len(found) > 1})
    several = {
        part: values
        for part, seen in sorted(parts.items())
        if statement_of(part) not in changed and len(values := {value for _, value in seen}) > 1
    }
    said = [f"the text of {', '.join(changed)} was changed during the run; start a new run"] if changed else []
    if several:
        most = max(several, key=lambda part: len(several[part]))
        how = how_digests_differ({str(json.loads(value)) for value in several[most]})
        trials = f"{len(parts[most])} trials gave {len(several[most])} {DIFFERENT}"
        said.append(f"{trials} to {', '.join([*several][:ANSWERS_SHOWN])}{f' ({how})' if how else ''}")
    where = f"{workload} on {rows:,} rows" if rows else workload
    return f"{where}: {'; '.join(said)}" if said else ""


def about_sources(records: Sequence[TrialRecord], answers: Callable[[str, str], Mapping[str, Any]]) -> list[Verdict]:
    """Whose answers those of the trials were compared with, where a trial cannot tell by itself that they are right.

    ``answers``: workload and table -> what was expected there.
    """
    sources: dict[str, str] = {}
    changed: dict[str, list[str]] = {}
    for record in records:
        if "answer" in (record.evidence.get("driver") or {}):
            workload = load_workload(record.trial.workload)
            table = workload.dataset(record.trial.levels, record.trial.seed).table
            expected = answers(record.trial.workload, table)
            what = f"{record.trial.workload} on {table}"
            sources[what] = str(expected.get("source", NOBODY))
            changed |= {what: names} if (names := expected.get(CHANGED)) else {}
    if not sources:
        return []
    found = "; ".join(f"{what}: {_in_words(source)}" for what, source in sorted(sources.items()))
    found += "".join(
        f"; {what}: changed since earlier runs answered: {', '.join(names)}; its answers begin anew with this run"
        for what, names in sorted(changed.items())
    )
    known = NOBODY not in sources.values() and not changed
    return [Verdict("results", 2, "The answers were compared with somebody else's", known, False, found)]


def _in_words(source: str) -> str:
    if source == NOBODY:
        return f"with {NOBODY}'s, so that wrong ones would not be noticed; later runs are compared with this one"
    if source == EARLIER_RUNS:
        return f"with those of {EARLIER_RUNS} only, no independent engine's"
    return f"with those of {source}"


def about_experiment(experiment: str, records: Sequence[TrialRecord]) -> list[Verdict]:
    """What one experiment asks of its trials beyond what all do, where it has a suite of its own.

    That is ``expectations/experiments/<experiment>.json``; each measurement is a column.
    """
    suite = f"experiments/{experiment}"
    if not _file(suite).exists():
        return []
    return validate(suite, [{**_measurement_row(record), **record.measurements} for record in records])


def about_failures(records: Sequence[TrialRecord], experiment: Experiment) -> list[Verdict]:
    """Failed trials make a run invalid, except where the experiment looks for the point of collapse."""
    failed = [record.trial.id for record in records if record.outcome in FINDINGS]
    found = f"{len(failed)} of {len(records)} failed or timed out" + (f": {', '.join(failed[:5])}" if failed else "")
    says = "No trial failed or ran out of time"
    return [Verdict("results", 7, says, not failed, not experiment.failures_are_findings, found)]


def about_host_speeds(measured: Mapping[str, Mapping[str, Any]]) -> list[Verdict]:
    """Platform -> ``host_speeds.json``. A slow host makes no number wrong: it says whose number it is."""
    known = {name: found for name, found in measured.items() if found}
    if not known:
        return []
    slow = [f"{name}, {one['says']}" for name, found in known.items() for one in found["stragglers"]]
    lacking = sorted({f"{name}, {host}" for name, found in known.items() for host in found["problems"]})
    when = "; ".join(f"{name} was measured on {found['at'][:10]}" for name, found in known.items())
    found = "; ".join([*slow[:STRAGGLERS_SHOWN], *(["…"] if len(slow) > STRAGGLERS_SHOWN else []), when])
    found += f"; not all of it on {', '.join(lacking[:STRAGGLERS_SHOWN])}" if lacking else ""
    says = "Every host is as fast as its peers, and as it was"
    return [Verdict("platforms", 8, says, not slow, False, found)]


def about_windows(records: Sequence[TrialRecord], *, is_full_scale: bool) -> list[Verdict]:
    """Whether windows were long enough, and how much of the run's time was measured.

    A moment is no number at full scale; at smaller ones runs are for trying.
    """
    measured = [record for record in records if windows.window_s(record) is not None]
    if not measured:
        return []
    short = sorted((record for record in measured if windows.is_short(record)), key=windows.length_s)
    moments = [record for record in short if windows.length_s(record) < windows.NEEDED_S]
    cells = dict.fromkeys(f"{record.trial.cell_label}: {windows.length_s(record):.3g} s" for record in short)
    found = f"{len(measured) - len(short)} of {len(measured)} were"
    found += f"; not {', '.join([*cells][:SHORT_SHOWN])}{', …' if len(cells) > SHORT_SHOWN else ''}" if cells else ""
    if (share := windows.measured_share(measured)) is not None:
        found += f"; of the time from the first trial's begin to the last one's end {share:.0%} was measured"
    found += f"; to lengthen them: {LONGER}" if cells else ""
    says = "Windows lasted as long as declared, or else a second"
    return [Verdict("measurements", 4, says, not short, bool(moments) and is_full_scale, found)]


def about_release(released: Mapping[str, bool]) -> list[Verdict]:
    """Platform -> whether it was put back as it was found. One that was not stays held until somebody has looked."""
    if not released:
        return []
    left = [name for name, put_back in released.items() if not put_back]
    found = f"{len(released) - len(left)} of {len(released)} were" + (f"; not {', '.join(left)}" if left else "")
    says = "Every cluster was put back as it was found, and given back"
    return [Verdict("platforms", 8, says, not left, True, found)]


def about_other_machines(views: Views) -> list[Verdict]:
    """What hypervisors saw of machines that are of no layout, on the hosts that were measured."""
    told = {key: view for key, view in views.items() if "problem" not in view}
    if not told:
        return []
    noisy = {f"{trial} on {platform}": busy for (platform, trial), view in told.items() if (busy := busy_others(view))}
    named = dict.fromkeys(name for busy in noisy.values() for name in busy)
    found = f"{len(told) - len(noisy)} of {len(told)} trials"
    found += f"; not so: {some_of(list(named))}, beside {some_of(list(noisy))}" if noisy else ""
    return [Verdict("platforms", 5, "No other machine was busy on the hypervisor's hosts", not noisy, False, found)]


def about_flush(flushed: Mapping[str, Mapping[str, Any]]) -> list[Verdict]:
    """Platform -> what ``flush_caches`` has archived. No leave is no fault: then cold trials are not applicable."""
    said, is_as_wanted = [], True
    for platform, found in flushed.items():
        rows = found.get("caches")
        is_as_wanted &= rows is not None and not any(row["problem"] and row["is_tried"] for row in rows)
        for row in rows or []:
            what = f"{platform}, cache of the {row['cache']}"
            of = "" if row["engine"] == conformance.ENGINE else f" ({row['engine']})"
            done = f"not emptied: {row['problem']}" if row["problem"] else _emptied(row)
            said.append(f"{what}{of}: {done}")
        said += [] if rows is not None else [f"{platform}: the run never came to it"]
    if not flushed:
        return []
    says = "Every cache that may be emptied was empty before data were generated"
    return [Verdict("platforms", 3, says, is_as_wanted, False, "; ".join(said))]


def _emptied(row: Mapping[str, Any]) -> str:
    return f"emptied by {row['method']}, {row['bytes_after']:,} bytes left of {row['bytes_before'] or 0:,}"


def about_neighbours(records: Sequence[TrialRecord]) -> list[Verdict]:
    """Hosts with declared neighbours are not quiet, on purpose; that these were there, every trial has shown."""
    beside = [record.evidence["neighbours"] for record in records if record.evidence.get("neighbours")]
    if not beside:
        return []
    names = ", ".join(sorted({name for neighbours in beside for name in neighbours}))
    found = (
        f"{len(beside)} of {len(records)} trials had neighbours ({names}), which were under load before their driver"
    )
    return [Verdict("measurements", 5, "Declared neighbours are under load, and no trial hides it", True, False, found)]


# What the suites look at: one flat row a trial, one a cell.


def fact_rows(records: Sequence[TrialRecord]) -> dict[str, list[dict[str, Any]]]:
    """Suite -> rows that trials found for it while they ran (``Reading.details["facts"]``)."""
    found: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        for suite, row in ((record.evidence.get("driver") or {}).get("facts") or {}).items():
            found.setdefault(suite, []).append(row)
    return found


SIGNED = ("throughput_change_percent",)
"""Measurements that may be below zero."""
LATENCY_ORDER = ("latency_ms_p50", "latency_ms_p95", "latency_ms_p99", "latency_ms_p999", "latency_ms_max")


def measurement_rows(records: Sequence[TrialRecord]) -> list[dict[str, Any]]:
    """Facts of every trial, in terms that the suite ``measurements`` can judge; absent is None, never 0."""
    return [_measurement_row(record) for record in records]


def _measurement_row(record: TrialRecord) -> dict[str, Any]:
    ordered = [record.measurements[name] for name in LATENCY_ORDER if name in record.measurements]
    unsigned = [value for name, value in record.measurements.items() if name not in SIGNED]
    caches = record.evidence.get("caches") or {}
    busy = [host.get("cpu_percent_before") for host in record.telemetry.values()]
    steal = [(host.get("mean") or {}).get("cpu_steal_percent") for host in record.telemetry.values()]
    swapped = [_swapped_mb_per_s(host.get("mean") or {}) for host in record.telemetry.values()]
    is_unwatched = bool(record.evidence.get("unwatched"))
    known = caches.get("problem") or record.evidence.get("neighbours_problem") or is_unwatched
    completed, has_neighbours = record.outcome == "completed", bool(record.evidence.get("neighbours"))
    return {
        "trial": record.trial.id,
        "outcome": "unwatched" if is_unwatched else record.outcome,
        "was_watched": not is_unwatched,
        "reason": record.reason,
        "errors": record.errors,
        "samples": record.samples,
        "driver_starts": record.driver_starts,
        "smallest_measurement": min(unsigned) if completed else None,
        "latencies_in_order": ordered == sorted(ordered) if completed else None,
        "cache_problem": caches.get("problem") or "none",
        "answers_problem": record.reason if record.outcome == "invalid" and not known else "none",
        "driver_cpu_share": record.measurements.get("driver_cpu_share"),
        "cpu_percent_before": None if has_neighbours else max((b for b in busy if b is not None), default=None),
        "cpu_steal_percent": max((value for value in steal if value is not None), default=None),
        "swap_mb_per_s": max((value for value in swapped if value is not None), default=None),
        "hosts_with_telemetry": sum(1 for host in record.telemetry.values() if host.get("samples"))
        if completed
        else None,
        "hosts_without_telemetry": sum(1 for host in record.telemetry.values() if not host.get("samples"))
        + len(record.evidence.get("telemetry_missing") or [])
        if completed
        else None,
    }


def _swapped_mb_per_s(means: Mapping[str, float]) -> float | None:
    """None of archives made before."""
    return sum(means[name] for name in SWAP) if all(name in means for name in SWAP) else None


def conformance_rows(
    platforms: Mapping[str, Mapping[str, Any]], found: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Every setting that a platform declares, hosts alike as one, and its version, which is always there.

    ``platforms``: the facts of each; ``found``: its conformance, as archived.
    """
    rows = []
    for name, facts in platforms.items():
        version = (facts.get("engine") or {}).get("version")
        verdict = conformance.AS_DECLARED if version else conformance.DIFFERENT
        told = version or "the platform was never set up"
        rows.append({"what": f"{name}: version", "found": told, "verdict": verdict})
        for each in conformance.fold(conformance.archived(found.get(name))):
            what = f"{name}, {each.where}: {each.row.setting}"
            rows.append({"what": what, "found": each.row.found, "verdict": each.row.verdict})
    return rows


def result_rows(found: Sequence[Result]) -> list[dict[str, Any]]:
    """Facts of every cell for the suite ``results``."""
    return [
        {
            "cell": f"{result.platform}: {result.label}",
            "planned": result.planned,
            "recorded": result.planned - result.outcomes.get("not_run", 0),
            "completed_or_explained": result.completed + (result.planned - result.completed if result.reasons else 0),
            "median_inside_interval": all(
                summary.interval_95 is None or summary.interval_95[0] <= summary.median <= summary.interval_95[1]
                for summary in result.measurements.values()
            ),
        }
        for result in found
    ]
