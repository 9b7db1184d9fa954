"""The TeraSort suite through the pipeline against the same three jobs by hand: what watching and checking it costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import cast

from clusterbench.base.connections import Connections
from clusterbench.base.records import Trial
from clusterbench.base.scripts import script
from clusterbench.engines.hadoop.engine import HadoopCluster
from clusterbench.trial.testbed import Testbed
from clusterbench_lab.bench.trials import HADOOP, cluster_taken, measured, trial_of

PAIRS = 2
ROWS = 5_000_000
BY_HAND = "/by_hand"
"""The folder in HDFS of ``include/lab/terasort_by_hand.sh``."""
RATIO_MAX = 1.1
TIMEOUT_S = 3600


def measure(connections: Connections, say: Callable[..., bool]) -> bool:
    """Prints two ratios; True where the first holds its bound: that of the jobs' own times, by the client's clock."""
    with cluster_taken(HADOOP, connections) as testbed:
        testbed.engine.set_up()
        in_trial_s = by_hand_s = whole_s = 0.0
        for number in range(PAIRS):
            for part in ("trial", "hand") if number % 2 else ("hand", "trial"):
                if part == "hand":
                    by_hand_s += _by_hand(testbed)
                    continue
                begun = time.monotonic()
                in_trial_s += measured(_trial(number), testbed, "suite_s")
                whole_s += time.monotonic() - begun
    say(f"seconds of a whole trial with all around it / of the same by hand, {PAIRS} pairs", whole_s / by_hand_s)
    ratio = in_trial_s / by_hand_s
    what = f"seconds of the TeraSort suite in a trial / of the same three jobs by hand, {PAIRS} pairs"
    return say(what, ratio, f"at most {RATIO_MAX}", holds=ratio <= RATIO_MAX)


def _trial(number: int) -> Trial:
    return trial_of("terasort", {"rows": ROWS, "pause_s": 0}, number, platform=HADOOP, timeout_s=TIMEOUT_S)


def _by_hand(testbed: Testbed) -> float:
    """As somebody would type it on the client host; the first one is as cold as a trial's."""
    cluster = cast(HadoopCluster, testbed.engine)
    cluster.delete(BY_HAND)  # of a bench that was interrupted
    cluster.settle()
    slots = cluster.configuration.cluster_slots
    jobs = cluster.environment() + script("lab/terasort_by_hand", slots=slots, rows=ROWS)
    begun, ended = testbed.fleet.run_on(testbed.platform.client, jobs, timeout_s=TIMEOUT_S).output.split()
    cluster.delete(BY_HAND)
    return float(ended) - float(begun)
