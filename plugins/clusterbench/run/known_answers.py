"""What the data and the statements of a run must come to: from an independent engine, else from earlier valid runs."""

from __future__ import annotations

import json
from typing import Any

from clusterbench.base.answers import CHANGED, TEXTS, statement_of
from clusterbench.base.datasets import Dataset
from clusterbench.base.records import Trial
from clusterbench.engines import Engine
from clusterbench.run.run import Run
from clusterbench.run.validation import EARLIER_RUNS, NOBODY
from clusterbench.workloads import Rewritable, load_workload


def with_expected_checksum(run: Run, workload: str, dataset: Dataset, row: dict[str, object]) -> dict[str, object]:
    """Where no other engine computed the checksum, it is that of the first valid run, on whatever platform."""
    if row.get("checksum") is None:
        return row
    key = f"_checksums/{dataset.name}/{dataset.table}-seed{dataset.seed}-{dataset.version}"
    expected: object = _computed_checksum(run, workload, dataset)
    source = "DuckDB over the same rows"
    if expected is None:
        known = run.archive.store.get(key)
        source = "an earlier run's" if known else "none yet: later runs are compared with this one"
        expected = known.decode() if known else row["checksum"]
    return {**row, "checksum_key": key, "checksum_expected": expected, "checksum_source": source}


def _computed_checksum(run: Run, workload: str, dataset: Dataset) -> str | None:
    """Once a run, however many platforms it has."""
    key = f"checksums/{dataset.table}.json"
    kept = run.archive.get_json(key)
    if kept is None:
        kept = {"checksum": load_workload(workload).checksum(dataset)}
        run.archive.put_json(key, kept)
    found: str | None = kept["checksum"]
    return found


def note_expected_answers(run: Run, workload: str, dataset: Dataset, engine: Engine | None = None) -> None:
    """What every trial must answer, once a run: by an independent engine, else as earlier valid runs answered."""
    if run.archive.answers(workload, dataset.table):
        return
    expected = load_workload(workload).answers(dataset, _trials_on(run, workload, dataset), engine)
    if expected is None:
        expected = _of_earlier_runs(run, workload, dataset)
    if expected:
        run.archive.put_answers(workload, dataset.table, expected)


def _of_earlier_runs(run: Run, workload: str, dataset: Dataset) -> dict[str, Any] | None:
    """Of a statement whose text is another one now, none: it is named as changed, and its answers begin anew.

    Answers that were kept before texts were kept beside them stand for any text, until a valid run has kept the text.
    """
    store, key, of = run.archive.store, _known_answer_key(workload, dataset), load_workload(workload)
    whole = json.loads(store.get(key) or b"{}")
    if not isinstance(of, Rewritable):
        return {**whole, "source": EARLIER_RUNS} if whole else None
    known: dict[str, Any] = {}
    changed: list[str] = []
    for name, text in of.fingerprints().items():
        if found := store.get(f"{key}/{name}/{text}"):
            known |= json.loads(found)
        elif any(store.keys(f"{key}/{name}/")):
            changed.append(name)
        else:
            known |= {part: value for part, value in whole.items() if statement_of(part) == name}
    if not known and not changed:
        return None
    return {**known, "source": EARLIER_RUNS if known else NOBODY, CHANGED: changed}


def _trials_on(run: Run, workload: str, dataset: Dataset) -> list[Trial]:
    """On all platforms: what is expected of one is expected of the others."""
    of, planned = load_workload(workload), [trial for trials in run.plan().trials.values() for trial in trials]
    return [t for t in planned if t.workload == workload and of.dataset(t.levels, t.seed) == dataset]


def _known_answer_key(workload: str, dataset: Dataset) -> str:
    return f"_answers/{workload}/{dataset.table}-seed{dataset.seed}-{dataset.version}"


def remember_answers(run: Run) -> None:
    """For later runs, which nobody else can tell what a statement answers at full scale."""
    known: dict[str, dict[str, Any]] = {}
    for record in run.archive.trials():
        answer = (record.evidence.get("driver") or {}).get("answer")
        if answer and record.outcome == "completed":
            dataset = load_workload(record.trial.workload).dataset(record.trial.levels, record.trial.seed)
            key, texts = _known_answer_key(record.trial.workload, dataset), record.evidence["driver"].get(TEXTS) or {}
            for part, value in answer.items():
                known.setdefault(f"{key}/{texts[part]}" if part in texts else key, {})[part] = value
    for key, answer in known.items():
        run.archive.store.put_new(key, json.dumps(answer, sort_keys=True).encode(), "application/json")
