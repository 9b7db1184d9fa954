"""Whether a server's write-ahead log is on disks of its own.

Paper 003, "Performance Optimizations Used in the Study" and the VMX file: two of its disks have nothing but the redo
log, because databases are sensitive to the latency of its writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from clusterbench.base.words import plural

if TYPE_CHECKING:
    from clusterbench.engines.postgres.server import Server

TOGETHER = "on the file system of the data"
APART = "on disks of its own, as its host sees them"
SHARED = "on a file system of its own, on a disk that has data, too"
NOT_TOLD = "on a file system of its own; on which disks is not known"


def wal_place(server: Server) -> dict[str, str]:
    """``wal_place``, in words; nothing where no host tells it."""
    said = server.on_instances("postgres/wal_place", server.instances(), "the login must own the server's files")
    found = in_words(line for output in said.values() for line in output.splitlines())
    return {"wal_place": found} if found else {}


def in_words(lines: Iterable[str]) -> str:
    """Of all instances, from the lines of ``wal_place.sh``; where they differ, how many are how. Pure."""
    counted = Counter(map(place_of, lines))
    if len(counted) == 1:
        return next(iter(counted))
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return "; ".join(f"{plural(count, 'instance')} {place}" for place, count in ordered)


def place_of(line: str) -> str:
    """Of one instance. What device numbers cannot show is not guessed."""
    _, log, data, log_disks, data_disks, tablespaces = line.split("\t")
    if log == data:
        place = TOGETHER
    elif not log_disks.split() or not data_disks.split():
        place = NOT_TOLD
    else:
        place = SHARED if set(log_disks.split()) & set(data_disks.split()) else APART
    elsewhere = int(tablespaces)
    return f"{place}; {plural(elsewhere, 'tablespace')} not looked at" if elsewhere else place
