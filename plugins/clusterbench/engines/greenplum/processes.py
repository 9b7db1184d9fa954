"""Start and stop: by the cluster's own utilities where it has them, by pg_ctl on every instance where not."""

from __future__ import annotations

import time

from clusterbench.engines.greenplum import utilities
from clusterbench.engines.postgres import processes
from clusterbench.engines.postgres.server import Server

ALL_UP_WITHIN_S = 60
ON_ALL_SEGMENTS = "SELECT count(*) AS segments FROM gp_dist_random('gp_id')"


def stop(server: Server) -> None:
    processes.check_leave_to_stop(server)
    if "gpstop" in utilities.known(server) and server.answers():
        utilities.run(server, "gpstop -a -M fast")
    else:  # gpstop refuses where the coordinator is down already
        processes.stop(server)


def start(server: Server) -> None:
    """What does not run; returns when all segments answer."""
    if "gpstart" in utilities.known(server) and not server.answers():
        utilities.run(server, "gpstart -a")
    else:  # also where only a segment is down: gpstart starts none beside a coordinator that runs
        processes.start(server)
    wait_for_segments(server)


def wait_for_segments(server: Server) -> None:
    until = time.monotonic() + ALL_UP_WITHIN_S
    while not server.answers(ON_ALL_SEGMENTS):
        if time.monotonic() > until:
            server.ask(ON_ALL_SEGMENTS)  # raises, in its own words
        time.sleep(0.5)
