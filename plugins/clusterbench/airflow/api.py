"""Airflow's REST API, as far as the command line needs it: start runs as *Trigger* does, and watch them."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from clusterbench.base.errors import AirflowApiError, AirflowAwayError, AirflowUnknownError
from clusterbench.spec.project import dag_id

TIMEOUT_S = 30
DAG_WAIT_S = 120
"""For a DAG that an Airflow does not know: one that has just started has not read its files yet."""
NO_SCHEDULE = (None, "None")
"""What Airflow calls the schedule of a DAG that has none."""
PASSWORDS_FILE = "simple_auth_manager_passwords.json.generated"
"""What Airflow's simple login makes up for its users, in AIRFLOW_HOME: user -> password."""
LAB_FILE = "airflow.json"
"""Address, user and password of the lab's Airflow, which the lab writes."""

_NO_DAG = (
    "Possible reasons: it reads other files, its DAG processor does not run, or the machine is too busy. Compare its "
    "dags_folder with this project's dags/, read the DAG processor's log, and try again"
)


@dataclass
class AirflowApi:
    """One Airflow, by address, user and password.

    ``name`` is that of an experiment, or ``weekly``, ``baselines`` or ``remarks``; Airflow's own has the prefix.
    """

    url: str
    user: str
    password: str = field(repr=False)
    _client: httpx.Client | None = field(default=None, repr=False)

    @classmethod
    def from_environment(cls, lab_dir: Path) -> AirflowApi:
        """CLUSTERBENCH_AIRFLOW_URL, _USER and _PASSWORD; else the Airflow of the lab.

        Of an ``airflow standalone`` on this machine the password is where it has put it.
        """
        url = os.environ.get("CLUSTERBENCH_AIRFLOW_URL")
        if url:
            user = os.environ.get("CLUSTERBENCH_AIRFLOW_USER")
            password = os.environ.get("CLUSTERBENCH_AIRFLOW_PASSWORD") or _of_standalone(url, user)
            if not user or not password:
                raise AirflowApiError(
                    "CLUSTERBENCH_AIRFLOW_URL is set: set CLUSTERBENCH_AIRFLOW_USER and _PASSWORD too"
                )
            return cls(url.rstrip("/"), user, password)
        return _of_lab(lab_dir / LAB_FILE)

    def call(self, method: str, path: str, **kwargs: Any) -> Any:
        """JSON of the answer. Raises AirflowApiError in the words of Airflow, when it refuses, and AirflowAwayError
        where nobody answers, or with an error of the server's own."""
        try:
            answer = self._signed_in().request(method, f"/api/v2{path}", **kwargs)
            if answer.status_code == httpx.codes.UNAUTHORIZED:  # a login holds for a day, a weekly run may for longer
                self._client = None
                answer = self._signed_in().request(method, f"/api/v2{path}", **kwargs)
        except httpx.HTTPError as error:
            raise AirflowAwayError(
                f"Airflow at {self.url} cannot be reached: {error}; is it up? ('make up' starts the lab's)"
            ) from None
        self._check(answer)
        return answer.json() if answer.content else None

    def ensure_pools(self, names: Mapping[str, str]) -> list[str]:
        """Make the one-slot pool of every cluster, where there is none. Returns those made."""
        known = {pool["name"] for pool in self.call("GET", "/pools", params={"limit": 1000})["pools"]}
        made = []
        for name, description in names.items():
            if name not in known:
                body = {"name": name, "slots": 1, "include_deferred": True, "description": description}
                self.call("POST", "/pools", json=body)
                made.append(name)
        return made

    def trigger(self, name: str, conf: Mapping[str, Any]) -> str:
        """Start a run. Returns Airflow's id of it. Raises AirflowApiError where Airflow refuses, or does not know the
        DAG within DAG_WAIT_S seconds."""
        body = {"logical_date": None, "conf": dict(conf)}
        until = time.monotonic() + DAG_WAIT_S
        is_told = False
        while True:
            try:
                return str(self.call("POST", f"/dags/{dag_id(name)}/dagRuns", json=body)["dag_run_id"])
            except AirflowUnknownError:
                if time.monotonic() >= until:
                    raise self._no_dag(name) from None
            if not is_told:
                print(f"waiting for Airflow to read its DAGs: it does not know {dag_id(name)!r} yet", file=sys.stderr)
                is_told = True
            time.sleep(1)

    def unpause(self, name: str) -> str:
        """Airflow pauses every DAG when it first sees it, and begins no run of a paused one. One without a schedule
        runs only when somebody asks for it, so it is unpaused.

        Returns what was done or is to be done, for people; empty where the DAG was not paused.
        """
        said = f"{dag_id(name)!r} is paused in Airflow, so its run waits"
        try:
            dag = self.call("GET", f"/dags/{dag_id(name)}")
            if not dag["is_paused"]:
                return ""
            if dag["timetable_summary"] not in NO_SCHEDULE:
                how = f"airflow dags unpause {dag_id(name)}, or the switch beside it in the UI"
                return f"{said}. To unpause it also switches on its schedule: {how}"
            self.call("PATCH", f"/dags/{dag_id(name)}", json={"is_paused": False})
        except AirflowAwayError:
            return ""  # whoever follows the run says so
        except AirflowApiError as refused:  # who may start a run need not be allowed to do this
            return f"{said}, and was not unpaused: {refused}"
        return f"{dag_id(name)!r} was paused in Airflow, and was unpaused"

    def clear(self, name: str, dag_run_id: str) -> None:
        """All tasks of a run: it continues, and each is done again, or finds that it was done."""
        asked = {"dry_run": False, "only_failed": False}
        self.call("POST", f"/dags/{dag_id(name)}/dagRuns/{_path(dag_run_id)}/clear", json=asked)

    def dag_run(self, name: str, dag_run_id: str) -> dict[str, Any]:
        return dict(self.call("GET", f"/dags/{dag_id(name)}/dagRuns/{_path(dag_run_id)}"))

    def task_instances(self, name: str, dag_run_id: str) -> list[dict[str, Any]]:
        """Every task instance of a run, mapped ones one by one."""
        found: list[dict[str, Any]] = []
        while True:
            page = self.call(
                "GET",
                f"/dags/{dag_id(name)}/dagRuns/{_path(dag_run_id)}/taskInstances",
                params={"limit": 100, "offset": len(found), "order_by": "map_index"},
            )
            found += page["task_instances"]
            if not page["task_instances"] or len(found) >= page["total_entries"]:
                return found

    def log(self, name: str, dag_run_id: str, task: Mapping[str, Any]) -> str:
        """The last try's log of a task instance, as text."""
        where = f"/dags/{dag_id(name)}/dagRuns/{_path(dag_run_id)}/taskInstances/{task['task_id']}"
        page = self.call(
            "GET",
            f"{where}/logs/{max(1, task['try_number'])}",
            params={"map_index": task["map_index"], "full_content": "true"},
            headers={"Accept": "application/json"},
        )
        return "\n".join(
            str(line.get("event", line)) if isinstance(line, dict) else str(line) for line in page["content"]
        )

    def xcoms(self, name: str, dag_run_id: str, key: str) -> list[dict[str, Any]]:
        """What tasks of a run have told under ``key``: entries with their values."""
        tasks = f"/dags/{dag_id(name)}/dagRuns/{_path(dag_run_id)}/taskInstances"
        found = self.call("GET", f"{tasks}/~/xcomEntries", params={"xcom_key": key, "limit": 100})["xcom_entries"]
        return [
            self.call("GET", f"{tasks}/{one['task_id']}/xcomEntries/{key}", params={"map_index": one["map_index"]})
            for one in found
        ]

    def holders(self, pool: str) -> list[dict[str, Any]]:
        """Task instances of all runs that have a slot of a pool."""
        asked = {"pool": [pool], "state": ["queued", "running", "deferred"], "limit": 10}
        return list(self.call("GET", "/dags/~/dagRuns/~/taskInstances", params=asked)["task_instances"])

    def health(self) -> dict[str, Any]:
        """Of Airflow's parts, each with its status and last heartbeat."""
        return dict(self.call("GET", "/monitor/health"))

    def import_errors(self) -> list[str]:
        return [entry["stack_trace"] for entry in self.call("GET", "/importErrors")["import_errors"]]

    def _no_dag(self, name: str) -> AirflowApiError:
        errors = []
        with contextlib.suppress(AirflowApiError):  # who may start a run need not be allowed to read these
            errors = self.import_errors()
        why = f"A file of DAGs fails there: {errors[0].strip()}" if errors else _NO_DAG
        waited = f"{DAG_WAIT_S} s after the first try"
        return AirflowApiError(f"Airflow at {self.url} has no DAG {dag_id(name)!r}, {waited}. {why}")

    def _signed_in(self) -> httpx.Client:
        if self._client is None:
            answer = httpx.post(
                f"{self.url}/auth/token", json={"username": self.user, "password": self.password}, timeout=TIMEOUT_S
            )
            self._check(answer, f" the login of {self.user!r}")
            token = answer.json()["access_token"]
            self._client = httpx.Client(
                base_url=self.url, headers={"Authorization": f"Bearer {token}"}, timeout=TIMEOUT_S
            )
        return self._client

    def _check(self, answer: httpx.Response, asked: str = "") -> None:
        """Raise what an answer that is an error means; ``asked``: what Airflow refuses then."""
        if answer.is_server_error:
            raise AirflowAwayError(f"Airflow at {self.url} failed: {_said(answer)}; is its database up?")
        if answer.is_error:
            kind = AirflowUnknownError if answer.status_code == httpx.codes.NOT_FOUND else AirflowApiError
            raise kind(f"Airflow at {self.url} refused{asked}: {_said(answer)}")


def _of_lab(path: Path) -> AirflowApi:
    try:
        return AirflowApi(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise AirflowApiError(
            f"{path}: no lab with an Airflow is running; 'make up' starts one. For another Airflow set "
            "CLUSTERBENCH_AIRFLOW_URL, CLUSTERBENCH_AIRFLOW_USER and CLUSTERBENCH_AIRFLOW_PASSWORD"
        ) from None
    except OSError as error:
        raise AirflowApiError(f"{path}: cannot be read ({error.strerror}): the lab is another user's") from None


def _of_standalone(url: str, user: str | None) -> str | None:
    """Only for an address of this machine: no other Airflow is told a password that is not its own."""
    home = os.environ.get("AIRFLOW_HOME")
    if not home or urlsplit(url).hostname not in ("localhost", "127.0.0.1"):
        return None
    with contextlib.suppress(OSError, ValueError):
        known: dict[str | None, str] = json.loads((Path(home) / PASSWORDS_FILE).read_text(encoding="utf-8"))
        return known.get(user)
    return None


def _path(text: str) -> str:
    """A run id as a part of a path: it holds colons and plus signs."""
    return quote(text, safe="")


def _said(answer: httpx.Response) -> str:
    try:
        detail = answer.json().get("detail", answer.text)
    except (json.JSONDecodeError, AttributeError):
        detail = answer.text
    return f"{answer.status_code} {detail if isinstance(detail, str) else json.dumps(detail)}"
