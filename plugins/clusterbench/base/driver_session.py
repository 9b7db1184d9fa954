"""What psql says of a driver's session: whether it was encrypted, and how. Pure."""

from __future__ import annotations

import re
from pathlib import Path

FILE = "session.txt"
UNKNOWN, NONE = "unknown", "none"


def session(output: Path) -> dict[str, str]:
    """``tls``: the protocol's version, none, or unknown; ``cipher`` where there is one. From a driver's output."""
    return read((output / FILE).read_text(errors="replace") if (output / FILE).exists() else "")


def read(said: str) -> dict[str, str]:
    r"""What ``\\conninfo`` told: in sentences up to psql 17, as a table from 18 on."""
    if not said.strip():
        return {"tls": UNKNOWN}
    protocol = re.search(r"protocol: ([^,)]+)|SSL Protocol\s*\|\s*(\S+)", said)
    cipher = re.search(r"cipher: ([^,)]+)|SSL Cipher\s*\|\s*(\S+)", said)
    if protocol is None:
        return {"tls": NONE}
    found = {"tls": protocol[1] or protocol[2]}
    return found | ({"cipher": cipher[1] or cipher[2]} if cipher else {})
