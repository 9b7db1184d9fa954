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
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow.configuration import conf
from airflow.plugins_manager import AirflowPlugin

from clusterbench.airflow.versions import HAS_TEAMS
from clusterbench.base.errors import SpecError
from clusterbench.base.paths import PROJECT_FILE, project_around, within
from clusterbench.base.paths import ROOT as ROOT_VARIABLE
from clusterbench.spec.project import connection_id, dag_id, name_of_dag, project_of

if TYPE_CHECKING:
    from fastapi import FastAPI

    from clusterbench.airflow.ui.going_on import AirflowNow
    from clusterbench.base.connections import Connection

PREFIX = "/bench"
LOGIN = "/api/v2/auth/login"
"""Leads on to the login page of whatever auth manager there is, and back with ``next``."""
WARM_AFTER_S = 20.0
"""The API server is up then, and imports nothing itself any more."""
DEEP_MAX = 2
"""Folders below Airflow's own in which a project may be."""


@cache
def pages() -> FastAPI:
    from airflow.api_fastapi.core_api.security import get_user  # noqa: PLC0415  see the module's docstring

    from clusterbench.airflow.ui.app import build  # noqa: PLC0415
    from clusterbench.airflow.ui.page_request import Airflow  # noqa: PLC0415

    return build(Airflow(user=get_user, may_read=may_read, login=LOGIN, connections=connection, look=look))


def serve(root: Path | None) -> Callable[..., Awaitable[None]]:
    """The ASGI application that Airflow mounts, for the project in that folder; None: for what this process is in."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        from starlette.concurrency import run_in_threadpool  # noqa: PLC0415

        app = await run_in_threadpool(pages)
        with within(root) if root else contextlib.nullcontext():
            await app(scope, receive, send)

    return answer


async def lead_on(scope: Any, receive: Any, send: Any) -> None:
    """Where several projects share an Airflow: from the tab of a DAG run to the project whose DAG it is.

    It knows nobody's login, so it names no project that the address does not name.
    """
    from starlette.responses import PlainTextResponse, RedirectResponse  # noqa: PLC0415

    if scope["type"] != "http":
        return
    path = str(scope["path"]).removeprefix(str(scope.get("root_path", "")))
    _, word, of_airflow, *_ = [*path.split("/"), "", ""]
    prefixes = {name: _prefix(root) for name, root in projects().items() if of_airflow.startswith(_prefix(root))}
    answer: Any = PlainTextResponse("Several projects share this Airflow: its menu leads to the results of each.", 404)
    if word == "now" and prefixes:
        name = max(prefixes, key=lambda one: len(prefixes[one]))  # one team's may begin as another's does
        answer = RedirectResponse(f"{ROOT}/{name}{path}")
    await answer(scope, receive, send)


def may_read(user: Any, names: Collection[str]) -> set[str]:
    """Of these the DAGs that the user may read. One that Airflow no longer knows is asked for like any other."""
    from airflow.api_fastapi.app import get_auth_manager  # noqa: PLC0415
    from airflow.models.dag import DagModel  # noqa: PLC0415

    ids = {dag_id(name): name for name in names}
    manager = get_auth_manager()
    if not HAS_TEAMS:
        return {ids[one] for one in manager.filter_authorized_dag_ids(dag_ids=set(ids), user=user, method="GET")}
    teams = DagModel.get_dag_id_to_team_name_mapping(list(ids))
    by_team: dict[str | None, set[str]] = {}
    for one in ids:
        by_team.setdefault(teams.get(one), set()).add(one)
    allowed = (
        manager.filter_authorized_dag_ids(dag_ids=of_team, user=user, method="GET", team_name=team)
        for team, of_team in by_team.items()
    )
    return {ids[one] for one in set().union(*allowed)}


def look(names: Collection[str], dag_run_id: str | None) -> AirflowNow:
    """By the names that DAGs have in the project; those of others keep their own."""
    from clusterbench.airflow.ui import airflow_now  # noqa: PLC0415

    found = airflow_now.look([dag_id(name) for name in names], dag_run_id)
    runs = [replace(run, dag_id=name_of_dag(run.dag_id)) for run in found.runs]
    holders = {
        pool: [{**one, "dag_id": name_of_dag(one["dag_id"])} for one in held] for pool, held in found.holders.items()
    }
    return replace(found, runs=runs, holders=holders)


def connection(conn_id: str) -> Connection:
    """The API server asks its own database, which a task may not."""
    from airflow.models.connection import Connection as Kept  # noqa: PLC0415

    from clusterbench.base.connections import from_airflow  # noqa: PLC0415

    return from_airflow(connection_id(conn_id), Kept.get_connection_from_secrets)


def warm() -> None:
    """So that the first visitor need not wait. What fails here will fail for that visitor, who is told."""
    with contextlib.suppress(Exception):
        from clusterbench.airflow.ui import app  # noqa: PLC0415

        app.warm()


@cache
def projects() -> Mapping[str, Path]:
    """Projects of one's own by name, of Airflow's folder of DAGs: the one that it is in, or those that are in it."""
    dags = Path(conf.get("core", "dags_folder")).resolve()
    around = project_around(dags)
    patterns = ["/".join(["*"] * depth) for depth in range(1, DEEP_MAX + 1)]
    within_it = (file.parent for one in patterns for file in dags.glob(f"{one}/{PROJECT_FILE}"))
    roots = [around] if around else sorted(within_it)
    found = {}
    for root in roots:
        with contextlib.suppress(SpecError):  # its DAG files tell what is wrong
            found[getattr(project_of(root), "project", "")] = root
    return found


def _prefix(root: Path) -> str:
    return getattr(project_of(root), "dag_prefix", "")


if "api-server" in sys.argv:
    if len(projects()) == 1:  # the API server reads no DAG file, by which others know the project
        os.environ.setdefault(ROOT_VARIABLE, str(next(iter(projects().values()))))
    starter = threading.Timer(WARM_AFTER_S, warm)
    starter.daemon = True
    starter.start()


ROOT = f"{urlsplit(conf.get('api', 'base_url', fallback='')).path.rstrip('/')}{PREFIX}"


def _apps() -> list[dict[str, Any]]:
    """Airflow asks them in this order, and each for all that begins with its prefix."""
    if len(projects()) < 2:
        return [{"app": serve(None), "url_prefix": PREFIX, "name": "Results"}]
    each = [
        {"app": serve(root), "url_prefix": f"{PREFIX}/{name}", "name": f"Results of {name}"}
        for name, root in projects().items()
    ]
    return [*each, {"app": lead_on, "url_prefix": PREFIX, "name": "Results"}]


def _menu() -> list[dict[str, Any]]:
    if len(projects()) < 2:
        return [_entry("Results", f"{ROOT}/", "bench")]
    return [_entry(f"Results of {name}", f"{ROOT}/{name}/", f"bench_{name}") for name in projects()]


def _entry(name: str, href: str, route: str) -> dict[str, Any]:
    return {"name": name, "href": href, "destination": "nav", "nav_top_level": True, "url_route": route}


class ClusterbenchUI(AirflowPlugin):
    name = "clusterbench_ui"
    fastapi_apps = _apps()
    external_views = [
        *_menu(),
        {
            "name": "Benchmark",
            "href": f"{ROOT}/now/{{DAG_ID}}/{{RUN_ID}}",
            "destination": "dag_run",
            "url_route": "bench_now",
        },
    ]
