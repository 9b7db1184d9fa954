"""What clusterbench itself takes: the seconds of a trial that are neither window nor cache state, and parsing."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime

from clusterbench.airflow.api import AirflowApi
from clusterbench.airflow.watch import follow
from clusterbench.base.archive import RunArchive, Store
from clusterbench.base.paths import project_root
from clusterbench.base.run_ids import run_id_from
from clusterbench.hosts.telemetry import SETTLE_S
from clusterbench.results.windows import length_s

OWN_TIME_S_MAX = 2.0
PARSE_S_MAX = 1.0
PARSE = """\
import time
begun = time.perf_counter(); import airflow.sdk; imported = time.perf_counter()
import runpy; made = runpy.run_path({path!r}); parsed = time.perf_counter()
from airflow.sdk import DAG; from airflow.serialization.serialized_objects import DagSerialization
ready = time.perf_counter()
for dag in made.values():
    if isinstance(dag, DAG): DagSerialization.to_dict(dag)
print(imported - begun, parsed - imported, time.perf_counter() - ready)
"""


def of_a_trial(api: AirflowApi, store: Store, say: Callable[..., bool]) -> bool:
    """Wall time of a run's trials in Airflow, less windows, the second before each, and cache states."""
    dag_run_id = api.trigger("smoke", {"scale": "laptop"})
    follow(api, "smoke", dag_run_id, out=sys.stderr)
    asked = datetime.fromisoformat(api.dag_run("smoke", dag_run_id)["run_after"])
    archive = RunArchive(store, "smoke", run_id_from(asked, dag_run_id))
    records = [record for record in archive.trials() if record.outcome == "completed"]
    tasks = [
        (datetime.fromisoformat(task["start_date"]), datetime.fromisoformat(task["end_date"]))
        for task in api.task_instances("smoke", dag_run_id)
        if task["task_id"] == "lab_db1.trials" and task["start_date"]
    ]
    wall_s = (max(end for _, end in tasks) - min(start for start, _ in tasks)).total_seconds()
    measured_s = sum(length_s(record) + SETTLE_S + record.phases_s["cache_state"] for record in records)
    own_s = (wall_s - measured_s) / len(tasks)
    what = f"pipeline's own seconds per trial, {len(tasks)} trials through Airflow"
    return say(what, own_s, f"at most {OWN_TIME_S_MAX}", holds=own_s <= OWN_TIME_S_MAX)


def of_parsing(say: Callable[..., bool]) -> bool:
    """A new process imports Airflow, then parses and serializes the DAGs, as the DAG processor does beside trials."""
    script = PARSE.format(path=str(project_root() / "dags" / "benchmarks.py"))
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "AIRFLOW_HOME": home, "AIRFLOW__CORE__LOAD_EXAMPLES": "false"}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True
        )
    imported_s, parsed_s, serialized_s = map(float, done.stdout.split()[-3:])
    say("parsing the DAGs / importing Airflow", parsed_s / imported_s)
    taken = {"seconds to serialize the DAGs": serialized_s, "seconds to parse the DAGs": parsed_s}
    bound = f"at most {PARSE_S_MAX}"
    held = [say(what, seconds, bound, holds=seconds <= PARSE_S_MAX) for what, seconds in taken.items()]
    return all(held)
