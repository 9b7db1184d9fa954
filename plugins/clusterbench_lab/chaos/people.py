"""What people do to a DAG run while it is under way, as the buttons of Airflow's UI do it."""

from __future__ import annotations

import time
from urllib.parse import quote

from clusterbench.airflow.api import AirflowApi
from clusterbench.base.errors import AirflowApiError, AirflowAwayError

ACTS = ("clear", "mark failed", "mark success", "delete")
PRESS_AGAIN = "press the button"
ENDING = ("mark failed", "mark success", "delete")
"""After these the run does not come to its own end; the next one must."""


ENDS_WITHIN_S = 300
TRIES = 5
"""A person presses the button again where Airflow has not answered."""


def act(api: AirflowApi, name: str, dag_id: str, dag_run_id: str) -> None:
    """One of ``ACTS``."""
    run = f"/dags/{dag_id}/dagRuns/{quote(dag_run_id, safe='')}"
    for left in reversed(range(TRIES)):
        try:
            if name == "clear":
                api.clear(dag_id, dag_run_id)
            elif name == "delete":
                _delete(api, run)
            else:
                api.call("PATCH", run, json={"state": name.removeprefix("mark ")})
        except AirflowAwayError:
            if not left:
                raise
        else:
            return


def _delete(api: AirflowApi, run: str) -> None:
    """Airflow deletes no run that is under way. A person marks it, and waits for the end of its last steps."""
    try:
        api.call("PATCH", run, json={"state": "failed"})
    except AirflowAwayError:
        raise
    except AirflowApiError as error:
        if "404" in str(error):
            return  # an earlier try has done it, and its answer was lost
        raise
    until = time.monotonic() + ENDS_WITHIN_S
    while api.call("GET", run)["state"] not in ("failed", "success") and time.monotonic() < until:
        time.sleep(1)
    api.call("DELETE", run)
