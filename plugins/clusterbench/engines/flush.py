"""What came of emptying every cache of a deployment once, before anything is generated. Each engine has its own way.

Nobody is disturbed for it without leave, and what cannot be emptied is reported, not raised: only cold trials need it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from clusterbench.base.errors import AwayError, EngineError
from clusterbench.base.scripts import script
from clusterbench.engines.deployment import Deployment
from clusterbench.hosts.fleet import DROP_PAGE_CACHE

LEFT_BYTES_MAX = 2**20
"""Of an instance's files, that may be in memory after its cache was emptied: a server opens a few when it starts."""
PAGE_CACHE_LEFT_MAX = 0.01
"""Of a host's memory, that its page cache may hold after it was dropped: programs that run stay in it, ..."""
PAGE_CACHE_SMALL_BYTES = 512 * 2**20
"""... which on a small host is more than that."""


@dataclass(frozen=True)
class Flushed:
    """One cache of one deployment. Bytes are None where nothing was tried, or nobody could look."""

    cache: Literal["database", "file system"]
    method: str
    """``restart``, or as ``page_cache`` of the platform's file."""
    problem: str
    """Why it is not emptied; empty where it is, and that was seen."""
    is_tried: bool
    """False where there is no leave, or where the platform's file says that it cannot be."""
    bytes_before: int | None = None
    bytes_after: int | None = None
    page_cache_bytes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Host -> its whole page cache before and after, where that was dropped."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def left(what: str, count: int, most: int) -> str:
    """What contradicts an empty cache, or nothing. Pure."""
    return "" if count <= most else f"{count:,} bytes of {what} are there still, or again; at most {most:,} may be"


def why_not_done(act: Callable[[], object]) -> str:
    """Does it. Returns what stands against it, in words; who is away is waited for."""
    try:
        act()
    except AwayError:
        raise
    except EngineError as error:
        return str(error)
    return ""


def drop_page_cache(deployment: Deployment, hosts: Sequence[str], remedy: str) -> tuple[str, dict[str, list[int]]]:
    """Of whole hosts, with a look before and after: what stands against it, and the bytes by host."""
    before = _page_cache(deployment, hosts)
    problem = why_not_done(lambda: deployment.on_each(dict.fromkeys(hosts, DROP_PAGE_CACHE), remedy))
    after = _page_cache(deployment, hosts)
    seen = {host: [before[host][0], after[host][0]] for host in hosts}
    return problem or page_cache_left(after), seen


def page_cache_left(hosts: Mapping[str, tuple[int, int]]) -> str:
    """Host -> bytes of its page cache and of its memory, after it was dropped: what contradicts that. Pure."""
    said = [
        left(f"the page cache of {host}", cached, max(int(PAGE_CACHE_LEFT_MAX * memory), PAGE_CACHE_SMALL_BYTES))
        for host, (cached, memory) in hosts.items()
    ]
    return "; ".join(filter(None, said))


def _page_cache(deployment: Deployment, hosts: Sequence[str]) -> dict[str, tuple[int, int]]:
    answers = deployment.on_each(dict.fromkeys(hosts, script("hosts/page_cache")), "/proc/meminfo must be readable")
    return {host: read_page_cache(said) for host, said in answers.items()}


def read_page_cache(meminfo: str) -> tuple[int, int]:
    """Bytes of files in the page cache, and of memory. Shared memory counts as cached there, and is no file's. Pure."""
    found = {words[0]: int(words[1]) * 1024 for line in meminfo.splitlines() if len(words := line.split()) > 1}
    return max(0, found["Cached:"] - found["Shmem:"]), found["MemTotal:"]
