"""``clusterbench remark``: notes of people on runs and days, and results that are withdrawn from judgement."""

from __future__ import annotations

import argparse
import getpass
import json
import re
import socket
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.table import Table

from clusterbench.base import remark_store, remarks
from clusterbench.base.errors import SpecError, suggest
from clusterbench.base.words import ABSENT
from clusterbench.cli.common import OK, RUN_HELP, archive_of, own_connections, store, wide_console
from clusterbench.report.compare_shown import escaped
from clusterbench.spec.catalog import project_catalog
from clusterbench.spec.experiment import TAG

if TYPE_CHECKING:
    from clusterbench.base.remarks import Remark

OF_RUN: dict[str, tuple[remarks.Kind, str]] = {
    "note": ("note", "add a note and tags to a run"),
    "withdraw": ("withdrawn", "do not use a run, a platform of it or a cell for verdicts any more; its numbers stay"),
    "put-back": ("put_back", "use again for verdicts what was withdrawn"),
}

NOT_OF_NOTES: dict[str, Any] = {"platform": "", "cell": ""}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    remark = commands.add_parser("remark", help="add a note to a run, an event to the time line, or withdraw a result")
    kinds = remark.add_subparsers(metavar="KIND", required=True)
    for name, (kind, says) in OF_RUN.items():
        one = kinds.add_parser(name, help=says)
        one.add_argument("run", metavar="RUN", help=RUN_HELP)
        one.add_argument("text", metavar="TEXT", help="the note" if kind == "note" else "the reason")
        if kind == "note":
            one.add_argument(
                "--tag",
                action="append",
                type=_tag,
                default=[],
                metavar="TAG",
                help="a word to find the run by; repeatable",
            )
        else:
            one.add_argument("--platform", default="", metavar="NAME", help="only this platform of the run")
            one.add_argument(
                "--cell", default="", metavar="CELL", help="only this cell, named as on a page or in results.json"
            )
        one.set_defaults(command=_of_run, kind=kind, **(NOT_OF_NOTES if kind == "note" else {"tag": []}))
    event = kinds.add_parser("event", help="note what happened to platforms, such as 'storage rebuilt'")
    event.add_argument("text", metavar="TEXT", help="what happened")
    event.add_argument(
        "--at", type=_moment, metavar="WHEN", help="when: 2026-05-12 or 2026-05-12T08:30, in UTC; now unless given"
    )
    event.add_argument("--platform", default="", metavar="NAME", help="only to this platform; to all unless given")
    event.add_argument("--experiment", default="", metavar="NAME", help="only to this experiment; to all unless given")
    event.set_defaults(command=_event)
    listed = kinds.add_parser("list", help="list the remarks, newest first")
    listed.add_argument("of", metavar="RUN|EXPERIMENT", nargs="?", help="only remarks on this run or experiment")
    listed.add_argument("--json", action="store_true", help="everything, as JSON")
    listed.set_defaults(command=_list)


def _tag(text: str) -> str:
    if not re.fullmatch(TAG, text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a tag: allowed are letters, digits, _ . : and -, beginning with a letter or digit"
        )
    return text


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time; write 2026-05-12 or 2026-05-12T08:30") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _by() -> str:
    return f"{getpass.getuser()}@{socket.gethostname()}"


def _of_run(options: argparse.Namespace) -> int:
    from clusterbench.run.remarks import remark_of_run  # noqa: PLC0415

    place = {"platform": options.platform, "cell": options.cell}
    archive = archive_of(options.run)
    return _keep(remark_of_run(archive, options.kind, options.text, _by(), **place, tags=options.tag))


def _event(options: argparse.Namespace) -> int:
    from clusterbench.run.remarks import event  # noqa: PLC0415

    place = {"platform": options.platform, "experiment": options.experiment}
    return _keep(event(project_catalog(), options.text, _by(), options.at, **place))


def _keep(remark: Remark) -> int:
    from clusterbench.run.remarks import keep  # noqa: PLC0415

    key = keep(own_connections(), remark)
    print(f"{remark.kind.replace('_', ' ')}: {remark.where}: {remark.text}\nkept as {key}")
    return OK


def _list(options: argparse.Namespace) -> int:
    archive = store()
    found = sorted(remark_store.read(archive, _below(options.of)), key=lambda one: one.said_at, reverse=True)
    if options.json:
        print(json.dumps([one.as_json() for one in found], indent=1, sort_keys=True))
        return OK
    if not found:
        print(f"no remarks{f' on {options.of}' if options.of else ''} in {archive.url}")
        return OK
    table = Table("date", "by", "kind", "about", "words", "tags")
    holding = remarks.withdrawals(found)
    for one in found:
        kind = (
            "withdrawn, later put back"
            if one.kind == "withdrawn" and one not in holding
            else one.kind.replace("_", " ")
        )
        tags = ", ".join(one.tags) or ABSENT
        table.add_row(f"{one.said_at:%Y-%m-%d %H:%M}", *map(escaped, (one.said_by, kind, one.where, one.text, tags)))
    wide_console().print(table, highlight=False)
    return OK


def _below(of: str | None) -> str:
    """The folder of a run's, of an experiment's, or of all remarks."""
    if not of:
        return remarks.FOLDER
    known = [path.stem for path in project_catalog().experiment_files]
    if of in known:
        return f"{remarks.FOLDER}{of}/"
    if "/" not in of and not re.match(r"\d{8}T", of):
        raise SpecError([f"there is no experiment {of!r}{suggest(of, known)}; to name a run, write {RUN_HELP}"])
    archive = archive_of(of)
    return remarks.folder_of(archive.experiment, archive.run_id)
