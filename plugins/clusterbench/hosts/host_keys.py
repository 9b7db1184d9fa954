"""The public keys that hosts show at an address, as ``ssh-keyscan`` asks for them: of all at once.

They prove nothing before somebody has compared them with what the hosts themselves say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import asyncssh

from clusterbench.hosts.address import CONNECT_TIMEOUT_S


@dataclass(frozen=True)
class Shown:
    """What a host answered: its key, or why there is none."""

    key: str = ""
    """Type and key, as a connection's ``host_key`` wants it."""
    fingerprint: str = ""
    """As ``ssh-keygen -l`` prints it."""
    problem: str = ""


def shown_by(places: Mapping[str, tuple[str, int]]) -> dict[str, Shown]:
    """Name -> what is shown at its address and port."""

    async def every() -> list[Shown]:
        return await asyncio.gather(*(_ask(*place) for place in places.values()))

    return dict(zip(places, asyncio.run(every()), strict=True))


async def _ask(host: str, port: int) -> Shown:
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            key = await asyncssh.get_server_host_key(host, port, config=None)
    except TimeoutError:
        return Shown(problem=f"no answer from {host}:{port} within {CONNECT_TIMEOUT_S:g} s")
    except (OSError, asyncssh.Error) as error:
        return Shown(problem=f"{host}:{port}: {error}")
    if key is None:
        return Shown(problem=f"{host}:{port} shows no key")
    kind, text, *_ = key.export_public_key().decode().split()
    return Shown(f"{kind} {text}", key.get_fingerprint())
