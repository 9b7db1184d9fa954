"""The Airflow plugin that shows the pages of results inside Airflow's own UI.

Every component of Airflow loads this module, by way of ``plugins/clusterbench_ui.py`` or of the installed package's
entry point. Only the API server needs the
pages, and they take seconds to import. So they are imported when somebody asks for one, or in the API server a little
after its start.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow.configuration import conf
from airflow.plugins_manager import AirflowPlugin

from clusterbench.airflow.versions import HAS_TEAMS
from clusterbench.base.paths import PROJECT_FILE
from clusterbench.base.paths import ROOT as ROOT_VARIABLE

if TYPE_CHECKING:
    from fastapi import FastAPI

    from clusterbench.airflow.ui.going_on import AirflowNow
    from clusterbench.base.connections import Connection

PREFIX = "/bench"
LOGIN = "/api/v2/auth/login"
"""Leads on to the login page of whatever auth manager there is, and back with ``next``."""
WARM_AFTER_S = 20.0
"""The API server is up then, and imports nothing itself any more."""


@cache
def pages() -> FastAPI:
    from airflow.api_fastapi.core_api.security import get_user  # noqa: PLC0415  see the module's docstring

    from clusterbench.airflow.ui.app import build  # noqa: PLC0415
    from clusterbench.airflow.ui.page_request import Airflow  # noqa: PLC0415

    return build(Airflow(user=get_user, may_read=may_read, login=LOGIN, connections=connection, look=look))


async def serve(scope: Any, receive: Any, send: Any) -> None:
    """The ASGI application that Airflow mounts."""
    from starlette.concurrency import run_in_threadpool  # noqa: PLC0415

    app = await run_in_threadpool(pages)
    await app(scope, receive, send)


def may_read(user: Any, dag_ids: Collection[str]) -> set[str]:
    """Of these DAGs those that the user may read. One that Airflow no longer knows is asked for like any other."""
    from airflow.api_fastapi.app import get_auth_manager  # noqa: PLC0415
    from airflow.models.dag import DagModel  # noqa: PLC0415

    manager = get_auth_manager()
    if not HAS_TEAMS:  # there are no teams
        return manager.filter_authorized_dag_ids(dag_ids=set(dag_ids), user=user, method="GET")
    teams = DagModel.get_dag_id_to_team_name_mapping(list(dag_ids))
    by_team: dict[str | None, set[str]] = {}
    for dag_id in dag_ids:
        by_team.setdefault(teams.get(dag_id), set()).add(dag_id)
    allowed = (
        manager.filter_authorized_dag_ids(dag_ids=ids, user=user, method="GET", team_name=team)
        for team, ids in by_team.items()
    )
    return set().union(*allowed)


def look(dag_ids: Collection[str], dag_run_id: str | None) -> AirflowNow:
    from clusterbench.airflow.ui import airflow_now  # noqa: PLC0415

    return airflow_now.look(dag_ids, dag_run_id)


def connection(conn_id: str) -> Connection:
    """The API server asks its own database, which a task may not."""
    from airflow.models.connection import Connection as Kept  # noqa: PLC0415

    from clusterbench.base.connections import from_airflow  # noqa: PLC0415

    return from_airflow(conn_id, Kept.get_connection_from_secrets)


def warm() -> None:
    """So that the first visitor need not wait. What fails here will fail for that visitor, who is told."""
    with contextlib.suppress(Exception):
        from clusterbench.airflow.ui import app  # noqa: PLC0415

        app.warm()


def know_the_project() -> None:
    """The API server reads no DAG file, so it finds the project of one's own by Airflow's folder of DAGs."""
    dags = Path(conf.get("core", "dags_folder")).resolve()
    root = next((folder for folder in (dags, *dags.parents) if (folder / PROJECT_FILE).is_file()), None)
    if root is not None:
        os.environ.setdefault(ROOT_VARIABLE, str(root))


if "api-server" in sys.argv:
    know_the_project()
    starter = threading.Timer(WARM_AFTER_S, warm)
    starter.daemon = True
    starter.start()


ROOT = f"{urlsplit(conf.get('api', 'base_url', fallback='')).path.rstrip('/')}{PREFIX}"


class ClusterbenchUI(AirflowPlugin):
    name = "clusterbench_ui"
    fastapi_apps = [{"app": serve, "url_prefix": PREFIX, "name": "Results"}]
    external_views = [
        {
            "name": "Results",
            "href": f"{ROOT}/",
            "destination": "nav",
            "nav_top_level": True,
            "url_route": "bench",
        },
        {
            "name": "Benchmark",
            "href": f"{ROOT}/now/{{DAG_ID}}/{{RUN_ID}}",
            "destination": "dag_run",
            "url_route": "bench_now",
        },
    ]
