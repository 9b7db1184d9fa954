"""Whether the statements of a declared workload answered what they must, by whom the folder names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clusterbench.base.answers import REMEDY, digest_of, how_digests_differ, statement_of
from clusterbench.base.datasets import Dataset
from clusterbench.workloads.declared import answer_files, clients, data, streams
from clusterbench.workloads.declared.folder import Folder
from clusterbench.workloads.declared.parameters import Listed, word
from clusterbench.workloads.from_duckdb import reference
from clusterbench.workloads.from_duckdb.answers import difference, rows

if TYPE_CHECKING:
    from clusterbench.base.records import Trial

SHOWN = 5
SOURCE = "DuckDB over the same rows"
DUCKDB = "duckdb"
FILE = "file"


def texts(folder: Folder, trial: Trial, dialect: str, listed: Listed) -> dict[str, str]:
    """Key -> statement, of those whose answers are looked at."""
    if folder.said.answers == "none":
        return {}
    of = clients.checked if folder.by_clients else streams.asked_texts
    return of(folder, trial, dialect, listed)


def of_duckdb(folder: Folder, dataset: Dataset, trials: Sequence[Trial], listed: Listed) -> dict[str, Any] | None:
    """What they must answer; None where the rows cannot be made again, or would take too long."""
    if folder.said.answers != DUCKDB or not data.can_be_made_anew(folder, dataset):
        return None
    asked: dict[str, str] = {}
    for trial in trials:
        placed = _levels(folder, trial)
        asked |= {f"{placed}{key}": text for key, text in texts(folder, trial, DUCKDB, listed).items()}
    if not asked:
        return None
    with data.anew(folder, dataset) as database:
        return {"source": SOURCE, "answers": {key: reference.answer(database, text) for key, text in asked.items()}}


def of_files(folder: Folder, trials: Sequence[Trial], listed: Listed) -> dict[str, Any] | None:
    """What the files beside the statements say; None where they are not asked, or know none of the answers."""
    if folder.said.answers != FILE:
        return None
    of = clients.asked_with if folder.by_clients else streams.asked_with
    found: dict[str, answer_files.Answer | None] = {}
    for trial in trials:
        placed = _levels(folder, trial)
        for key, (name, drawn) in of(folder, trial, listed).items():
            if f"{placed}{key}" not in found:
                values = {**trial.levels, "seed": trial.seed, **drawn}
                said = {each: word(one) for each, one in values.items()}
                found[f"{placed}{key}"] = answer_files.answer(folder, name, said)
    known = {key: answer for key, answer in found.items() if answer is not None}
    source = f"files beside the workload, which know {len(known)} of {len(found)}"
    return {"source": source, "answers": known} if known else None


def _levels(folder: Folder, trial: Trial) -> str:
    """Factors that stand in the statements make other answers: they are part of the key."""
    placed = [name for name, factor in folder.said.factors.items() if not factor.setting and not factor.is_size]
    return "".join(f"{name}={trial.levels[name]} " for name in placed)


def judge(
    folder: Folder, trial: Trial, answered: Mapping[str, Sequence[str]], expected: Mapping[str, Any]
) -> tuple[list[str], dict[str, str]]:
    """What is wrong; and by key a digest of each answer, where nothing is, for later runs to compare with.

    ``answered``: by key what was given to it, by one stream or by several, as COPY writes it.
    """
    if folder.said.answers == "none":
        return [], {}
    wrong: list[str] = []
    digests: dict[str, str] = {}
    known: Mapping[str, Any] = expected.get("answers") or {}
    for key, given in answered.items():
        name = f"{_levels(folder, trial)}{key}"
        digests[name] = digest(given[0])
        if any(digest(one) != digests[name] for one in given):
            other = next(one for one in given if digest(one) != digests[name])
            how = difference(rows(other), rows(given[0])) or "other values"
            wrong.append(f"{key}: streams or rounds gave different answers to it: {how}; {REMEDY}")
        elif name in known:
            if problem := difference(rows(given[0]), known[name]):
                wrong.append(f"{key}: {problem} ({expected['source']})")
        elif name in expected and expected[name] != digests[name]:
            how = how_digests_differ({str(expected[name]), digests[name]})
            source = expected.get("source", "earlier runs")
            wrong.append(f"{key}: its answer is not that of {source}{f' ({how})' if how else ''}; {REMEDY}")
    return _shortened(wrong), {} if wrong else digests


def digest(copied: str) -> str:
    """Of its rows as a multiset."""
    lines = "\n".join(sorted(copied.splitlines()))
    return digest_of(len(copied.splitlines()), hashlib.sha256(lines.encode()).hexdigest()[:16])


def fingerprints(folder: Folder) -> dict[str, str]:
    """Statement -> what its answers belong to: its text in every dialect, and what its parameters are drawn from."""
    return {name: _fingerprint(folder, name) for name in folder.said.statements}


def of_texts(folder: Folder, keys: Iterable[str]) -> dict[str, str]:
    """Key of an answer, as ``judge`` has it -> ``statement/fingerprint``."""
    known = fingerprints(folder)
    return {key: f"{statement_of(key)}/{known[statement_of(key)]}" for key in keys}


def _fingerprint(folder: Folder, name: str) -> str:
    files = [f"{name}.sql", *sorted(each.name for each in folder.path.glob(f"{name}.*.sql"))]
    parameters = folder.parameters_of(name)
    files += [each for one in parameters.values() for each in (one.file, one.query) if each]
    texts = {file: folder.text(file) for file in files if (folder.path / file).is_file()}
    said = {key: one.model_dump(mode="json", exclude_defaults=True) for key, one in parameters.items()}
    return hashlib.sha256(json.dumps([texts, said], sort_keys=True).encode()).hexdigest()[:16]


def _shortened(found: list[str]) -> list[str]:
    return found[:SHOWN] + ([f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else [])
