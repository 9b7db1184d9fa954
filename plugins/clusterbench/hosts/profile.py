"""Sampling of what a host's processors run, by perf: beside the collector of telemetry, in its folder."""

from __future__ import annotations

from clusterbench.base.scripts import script

SAMPLES = "telemetry.profile.gz"
"""Lines ``time, to a tenth of a second <tab> how often <tab> stack``."""
ERRORS = "telemetry.profile_errors"
RATE_HZ = 49
"""No divisor of what programs do ten or a hundred times a second, so that samples do not fall in step with it."""
BYTES_MAX = 512 * 2**20
"""Of raw samples on a host: an hour of 16 processors, or some minutes of 256."""
SECONDS_MAX = 3600
LONGER_S = 60
"""Beside the driver's own time."""
RECORD = f"/usr/bin/perf record -q -e cpu-clock -F {RATE_HZ} -k CLOCK_REALTIME -a -g -o - -- cat"
TELL = "/usr/bin/perf script -i - -F comm,time,ip,sym,dso"
ROOT_COMMANDS = (RECORD, TELL)
"""What of it needs root, for sudoers."""


def start(driver_s: int) -> str:
    """Bash after the collector's start. It ends by itself if nobody ends it."""
    seconds = min(driver_s + LONGER_S, SECONDS_MAX)
    started = script("hosts/profile_start", record=RECORD.split(), seconds=seconds, bytes=BYTES_MAX)
    return script("hosts/as_root") + started


def stop() -> str:
    """Bash after the collector's end, of a host on which it may run or not."""
    return script("hosts/as_root") + script("hosts/profile_stop", tell=TELL.split())
