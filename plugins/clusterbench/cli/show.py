"""``clusterbench show``: what is in a run's archive, or one object of it as it is."""

from __future__ import annotations

import argparse
import sys

from clusterbench.base.errors import ArchiveError
from clusterbench.cli.common import OK, add_run, archive_of


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    show = commands.add_parser("show", help="print one object of a run's archive, or list the objects")
    add_run(show)
    show.add_argument(
        "object",
        metavar="OBJECT",
        nargs="?",
        help="name of the object in the archive; the objects of a folder are listed",
    )
    show.set_defaults(command=_show)


def _show(options: argparse.Namespace) -> int:
    archive = archive_of(options.run)
    name = options.object or ""
    if content := archive.store.get(archive.prefix + name) if name else None:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return OK
    if not (names := archive.keys(name)):
        raise ArchiveError(f"{archive.url}: there is no object {name!r}; leave out OBJECT to list all names")
    print("\n".join(names))
    return OK
