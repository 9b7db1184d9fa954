"""What cannot be had on a platform, as far as its file shows. Pure."""

from __future__ import annotations

from clusterbench.base.capabilities import ALONE
from clusterbench.spec.leave import Leave, why_not
from clusterbench.spec.platform import Platform

NO_HOSTS = "its file names no coordinator or segment host, so nothing can be done to the server's processes or files"


def without_hosts(platform: Platform) -> dict[str, str]:
    """What cannot be had where hosts are not known, or where the file gives no leave."""
    unavailable = {}
    if not platform.hosts_with("etl"):
        unavailable["etl"] = "the platform's file has no host with the role 'etl', from which files could be loaded"
    if not platform.database_hosts:
        unavailable |= dict.fromkeys(("flush", "restart", "pooler"), NO_HOSTS)
    else:
        not_allowed = {
            "cold": _why_not_cold(platform),
            "flush": _why_not_flushed(platform),
            "restart": why_not(platform, "restart"),
            "pooler": why_not(platform, "session_settings"),
        }
        unavailable |= {name: why for name, why in not_allowed.items() if why}
    if why := why_not(platform, "change_existing"):
        unavailable["change_existing"] = why
    if platform.neighbours:
        names = ", ".join(platform.neighbours)
        unavailable[ALONE] = (
            f"its neighbours ({names}) run the same load again and again, and this one can be run once only"
        )
    return unavailable


def _why_not_cold(platform: Platform) -> str:
    """All leave that is missing at once: who gave the one would learn of the other by a second run."""
    return "" if platform.page_cache == "none" else why_not(platform, _emptying(platform), "restart")


def _emptying(platform: Platform) -> Leave:
    return "drop_caches" if platform.page_cache == "drop_caches" else "evict"


def _why_not_flushed(platform: Platform) -> str:
    if platform.page_cache == "none":
        return "the platform's file has 'page_cache: none', so the file system's cache cannot be emptied"
    return why_not(platform, _emptying(platform))
