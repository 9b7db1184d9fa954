"""How much memory this process has had at most."""

from __future__ import annotations

from pathlib import Path


def peak_mb() -> float:
    """MiB since this program began. What ``getrusage`` says is also that of the process which started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (found,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return int(found) / 1024
