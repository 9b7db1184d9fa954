"""What cannot be had on a platform, as far as its file tells. Pure."""

from __future__ import annotations

from clusterbench.base.capabilities import ALONE
from clusterbench.spec.platform import Platform

NO_HOSTS = "its file names no coordinator or segment host, so nothing can be done to the server's processes or files"


def without_hosts(platform: Platform) -> dict[str, str]:
    """What cannot be had where hosts are not known, or where caches may not be emptied."""
    unavailable = {}
    if not platform.hosts_with("etl"):
        unavailable["etl"] = (
            "the platform's file names no host with the role 'etl', so there is none to load files from"
        )
    if not platform.database_hosts:
        unavailable |= {"flush": NO_HOSTS, "pooler": NO_HOSTS}
    elif platform.page_cache == "none":
        unavailable["flush"] = "the platform's file says 'page_cache: none': its file system cache cannot be emptied"
    if platform.neighbours:
        names = ", ".join(platform.neighbours)
        unavailable[ALONE] = (
            f"its neighbours ({names}) run the same load again and again, and this one can be run once only"
        )
    return unavailable
