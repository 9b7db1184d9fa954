"""Whether every host has its work folder to itself: in a shared one each overwrites what the others write."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from shlex import quote

from clusterbench.base.errors import SpecError
from clusterbench.hosts.fleet import Fleet

NAMED_MAX = 5


def sharing(fleet: Fleet, hosts: Iterable[str]) -> dict[str, list[str]]:
    """Host -> the others of ``hosts`` that see its work folder; without those that share with nobody.

    Each leaves a token in its folder, and sees the tokens that are there. So it is known of hosts that are one machine
    under several names, and of homes on NFS.
    """
    work = fleet.work_dirs(hosts)
    token = {host: f"shared.{secrets.token_hex(8)}" for host in work}
    places = {host: f"{quote(work[host])}/{token[host]}" for host in work}
    fleet.run_each({host: f"mkdir -p {quote(work[host])} && : >{places[host]}" for host in work})
    try:
        answers = fleet.run_each({host: f"cd {quote(folder)} && ls -d shared.*" for host, folder in work.items()})
    finally:
        fleet.try_each({host: f"rm -f {place}" for host, place in places.items()})
    seen = {host: set(answer.output.split("\n")) for host, answer in answers.items()}
    found = {host: sorted(one for one in token if one != host and token[one] in there) for host, there in seen.items()}
    return {host: others for host, others in found.items() if others}


def check(fleet: Fleet, platform: str) -> None:
    """Raises SpecError where hosts share a work folder; nothing that they write there could be told apart."""
    groups = dict.fromkeys(tuple(sorted({host, *others})) for host, others in sharing(fleet, fleet.names).items())
    if not groups:
        return
    said = []
    for hosts in groups:
        more = f" and {len(hosts) - NAMED_MAX} more" if len(hosts) > NAMED_MAX else ""
        said.append(f"  {fleet.work_dir(hosts[0])}: {', '.join(hosts[:NAMED_MAX])}{more}")
    raise SpecError(
        [
            f"platform {platform!r}: hosts share a work folder, where each would overwrite what the others write:",
            *said,
            "If they are one machine, name it once, with all its roles, or give each connection a 'work_dir' of its "
            "own. If their homes are on one file system, leave 'work_dir' out of the connections (then each host has a "
            "folder of its own), or name one that is local",
        ]
    )
