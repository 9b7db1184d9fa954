"""A person's remark on a run or a day: checked, kept in the archive, and known to the history at once. No Airflow."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from clusterbench.base import remark_store, remarks
from clusterbench.base.archive import CONNECTION_ID, RunArchive, Store
from clusterbench.base.connections import HISTORY, Connections, why_no_history
from clusterbench.base.errors import ClusterbenchError, RemarkError, suggest
from clusterbench.base.remarks import Kind, Remark
from clusterbench.results.statistics import Result
from clusterbench.spec.catalog import Catalog


def remark_of_run(
    archive: RunArchive, kind: Kind, text: str, by: str, *, platform: str = "", cell: str = "", tags: Sequence[str] = ()
) -> Remark:
    """A note, a withdrawal or its end. Raises RemarkError where it says nothing, or of something that is not there."""
    _check_text(
        text, "a note needs words" if kind == "note" else "give a reason: others will read it in place of the number"
    )
    if kind == "note" and (platform or cell):
        raise RemarkError("a note is of a whole run: leave platform and cell out")
    if kind != "note" and tags:
        raise RemarkError("tags belong to notes: leave them out")
    cell = _named(archive, platform, cell)
    _check_place(archive, platform, cell)
    said_at = datetime.now(UTC)
    one = Remark(kind, text.strip(), by, said_at, archive.experiment, archive.run_id, platform, cell, tuple(tags))
    if kind != "note":
        _check_standing(archive, one)
    return one


def event(
    catalog: Catalog, text: str, by: str, happened_at: datetime | None, *, experiment: str = "", platform: str = ""
) -> Remark:
    """Of all experiments and platforms, or of those that are named. ``happened_at``: now, where it is None."""
    _check_text(text, "an event needs words: what happened")
    for kind, name, files in (
        ("experiment", experiment, catalog.experiment_files),
        ("platform", platform, catalog.platform_files),
    ):
        known = [path.stem for path in files]
        if name and name not in known:
            raise RemarkError(f"no {kind} {name!r}{suggest(name, known)}")
    now = datetime.now(UTC)
    at = happened_at or now
    if at > now:
        raise RemarkError(f"{at:%Y-%m-%d %H:%M} UTC is in the future; note an event after it has happened")
    return Remark("event", text.strip(), by, now, experiment=experiment, platform=platform, happened_at=at)


def keep(connections: Connections, remark: Remark) -> str:
    """Into the archive, and the history where there is one. Returns its key.

    Where the history database is away, the remark is kept all the same: the next weekly run loads it.
    """
    from clusterbench.history import database, load  # noqa: PLC0415  psycopg, which no DAG needs

    store = Store.of(connections(CONNECTION_ID))
    key = remark_store.write(store, remark)
    if why_no_history(connections):
        return key
    try:
        with database.for_loading(connections(HISTORY)) as db:
            load.load_remarks(db, store)
    except ClusterbenchError as error:
        raise RemarkError(
            f"kept as {store.url}{key}, but the history database does not have it yet: {error}; "
            "'clusterbench history load' or the next weekly run loads it"
        ) from None
    return key


def _check_text(text: str, problem: str) -> None:
    if not text.strip():
        raise RemarkError(problem)


def _check_place(archive: RunArchive, platform: str, cell: str) -> None:
    if cell and not platform:
        raise RemarkError(f"a cell is one of a platform: name the platform as well as cell {cell!r}")
    if not platform:
        return
    found = [Result.from_json(one) for one in (archive.get_json("results.json") or {}).get("results", [])]
    platforms = list(dict.fromkeys(one.platform for one in found))
    if platform not in platforms:
        has = ", ".join(platforms) or "no results yet"
        raise RemarkError(
            f"run {archive.name} has no results on {platform!r}{suggest(platform, platforms)}; it has: {has}"
        )
    cells = [one.cell for one in found if one.platform == platform]
    if cell and cell not in cells:
        raise RemarkError(f"run {archive.name} has no cell {cell!r} on {platform}{suggest(cell, cells)}")


def _named(archive: RunArchive, platform: str, cell: str) -> str:
    """The cell as results.json calls it, of what mail and pages call it; else as it was said."""
    found = [Result.from_json(one) for one in (archive.get_json("results.json") or {}).get("results", [])]
    return next((one.cell for one in found if (one.platform, one.label) == (platform, cell)), cell)


def _check_standing(archive: RunArchive, one: Remark) -> None:
    """What is withdrawn is not withdrawn again, and only that is put back."""
    said = remark_store.read(archive.store, one.folder)
    holding = [held for held in remarks.withdrawals(said) if held.target == one.target]
    if one.kind == "withdrawn" and holding:
        raise RemarkError(f"{one.where} is withdrawn already, by {holding[0].by_whom}: {holding[0].text}")
    if one.kind == "put_back" and not holding:
        others = [f"{held.where} ({held.text})" for held in remarks.withdrawals(said)]
        raise RemarkError(
            f"{one.where} is not withdrawn, so it cannot be put back; withdrawn of that run: "
            f"{'; '.join(others) or 'nothing'}"
        )
