"""The pages' addresses: who may see what, and which function makes it. They only read: every one is a GET.

``build`` makes the application, which Airflow mounts below a prefix (``plugin.py``).
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, StreamingResponse
from starlette.exceptions import HTTPException as AnyHTTPException

from clusterbench.airflow.ui import (
    compared,
    experiment,
    going_on,
    hosts,
    latest,
    one_run,
    over_time,
    reports,
    template,
    weeks,
)
from clusterbench.airflow.ui.page_request import Airflow, NotShown, PageRequest, Stores
from clusterbench.base.errors import ClusterbenchError, lacking
from clusterbench.base.run_ids import WEEKLY
from clusterbench.history import read
from clusterbench.report import addresses
from clusterbench.spec.project import name_of_dag

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-store",
}
OF_A_REPORT = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'self'"
}
"""A report is a page of its own that came from object storage: it may be looked at, and do nothing."""
KEPT = {"Cache-Control": "private, max-age=86400"}
"""Of style and script, whose address changes with what they say."""


def logged_in() -> Any:
    """Who asks. ``build`` puts Airflow's own dependency in the place of this one, which lets nobody in."""
    raise HTTPException(401)


def visit_of(request: Request, user: Annotated[Any, Depends(logged_in)]) -> PageRequest:
    root = str(request.scope.get("root_path", ""))
    above = str(request.scope.get("app_root_path", ""))
    return PageRequest(request.app.state.airflow, user, root.rstrip("/"), above.rstrip("/"), request.app.state.stores)


Here = Annotated[PageRequest, Depends(visit_of)]
pages = APIRouter(dependencies=[Depends(visit_of)], default_response_class=HTMLResponse)
"""No address without a login, of those that are added later neither."""


def build(airflow: Airflow) -> FastAPI:
    app = FastAPI(title="clusterbench", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.state.airflow, app.state.stores = airflow, Stores()
    app.include_router(pages)
    app.dependency_overrides[logged_in] = airflow.user
    app.middleware("http")(with_headers)
    for kind, answer in ANSWERS.items():
        app.add_exception_handler(kind, answer)
    return app


def warm() -> None:
    """What is imported and read once, before somebody waits for it."""
    template.asset(template.STYLE)
    over_time.warm()


async def with_headers(request: Request, call_next: Any) -> Response:
    response: Response = await call_next(request)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def page(name: str, visit: PageRequest, **values: Any) -> HTMLResponse:
    return HTMLResponse(template.render(name, visit.root, visit.airflow_root, **values))


# The pages.


@pages.get("/")
def show_latest(visit: Here) -> Response:
    with visit.history() as db:
        return page("latest.html.j2", visit, page=latest.gather(db, visit), now=visit.going_on())


@pages.get("/now")
def show_going_on(visit: Here) -> Response:
    """Without the history database and the archive, which may be what is away."""
    return page("going_on.html.j2", visit, now=visit.going_on(), wanted="")


@pages.get("/now/{name}/{dag_run_id}")
def show_run_going_on(visit: Here, name: str, dag_run_id: str) -> Response:
    """A tab of Airflow's own page of a DAG run; also of one that has ended."""
    name = name_of_dag(name)  # Airflow fills in its own
    visit.must_read(name)
    if name not in going_on.names():
        raise NotShown(404, "No benchmark", f"The DAG {name!r} is none of clusterbench's experiments.")
    now = visit.going_on(name, dag_run_id)
    if not now.runs:
        raise NotShown(404, "No such run", f"Airflow knows no run {dag_run_id!r} of the DAG {name!r}.")
    return page("going_on.html.j2", visit, now=now, wanted=dag_run_id)


@pages.get("/experiments/{name}")
def show_experiment(
    visit: Here, name: str, choice: Annotated[experiment.Choice, Depends()], before: datetime | None = None
) -> Response:
    visit.must_read(name)
    with visit.history() as db:
        return page("experiment.html.j2", visit, page=experiment.gather(db, name, choice, before))


SERIES = "/series/{experiment}/{scale}/{platform}/{key}/{measurement}"


@pages.get(SERIES)
def show_series(
    visit: Here, wanted: Annotated[over_time.Wanted, Depends()], runs: int = over_time.RUNS[-1]
) -> Response:
    visit.must_read(wanted.experiment)
    with visit.history() as db:
        found = over_time.find(db, wanted)
        runs = min(max(2, runs), over_time.RUNS[-1])
        return page("series.html.j2", visit, page=over_time.gather(db, found, runs), offered=over_time.RUNS)


@pages.get(f"{SERIES}/points.csv")
def download_series(visit: Here, wanted: Annotated[over_time.Wanted, Depends()]) -> Response:
    visit.must_read(wanted.experiment)
    with visit.history() as db:
        found = over_time.find(db, wanted)
        text = over_time.as_csv(found, read.points(db, found.id, found.measurement, limit=over_time.RUNS[-1]))
    attached = f"attachment; filename*=UTF-8''{quote(wanted.file_name)}.csv"
    return Response(text, media_type="text/csv; charset=utf-8", headers={"Content-Disposition": attached})


@pages.get("/runs/{name}/{run_id}")
def show_run(visit: Here, name: str, run_id: str, platform: str = "", number: int = 1) -> Response:
    visit.must_read(name)
    with visit.history() as db:
        if read.run(db, name, run_id) is None:
            for shown in visit.going_on().runs:
                if (shown.run.dag_id, shown.run_id) == (name, run_id):
                    return RedirectResponse(f"{visit.root}{addresses.now(name, shown.run.dag_run_id)}", 303)
        run = one_run.found_run(db, name, run_id)
        gathered = one_run.gather(db, run, platform, number)
    return page("run.html.j2", visit, page=gathered, findings=reports.findings(visit, name, run_id))


@pages.get("/runs/{name}/{run_id}/report")
def show_report(visit: Here, name: str, run_id: str) -> Response:
    visit.must_read(name)
    with visit.history() as db:
        run = one_run.found_run(db, name, run_id)
    reports.must_exist(visit, name, run_id)
    return page("report_of_run.html.j2", visit, run=run)


@pages.get("/runs/{name}/{run_id}/report.html")
def send_report(visit: Here, name: str, run_id: str) -> Response:
    visit.must_read(name)
    return StreamingResponse(reports.report(visit, name, run_id), media_type="text/html", headers=OF_A_REPORT)


@pages.get("/platforms/{name}/hosts")
def show_hosts(visit: Here, name: str) -> Response:
    with visit.history() as db:
        return page("hosts.html.j2", visit, page=hosts.gather(db, visit, name))


@pages.get("/compare")
def show_comparison(visit: Here, experiment: str = "", a: str = "", b: str = "") -> Response:
    asked = {name.partition("/")[0] for name in (a, b) if name} | ({experiment} if experiment else set())
    visit.must_read(*asked)
    with visit.history() as db:
        names = list(dict.fromkeys(run.experiment for run in read.latest(db)))
        readable = visit.readable(names)
        names = [name for name in names if name in readable]
        return page("compare.html.j2", visit, page=compared.gather(db, names, experiment, a, b))


@pages.get("/weeks")
def show_weeks(visit: Here) -> Response:
    visit.must_read(WEEKLY)
    with visit.history() as db:
        return page("weeks.html.j2", visit, weeks=weeks.readable(db, visit), now=visit.going_on())


@pages.get("/weeks/{run_id}")
def show_week(visit: Here, run_id: str) -> Response:
    with visit.history() as db:
        week = weeks.found(db, visit, run_id)
    reports.must_exist(visit, WEEKLY, run_id)
    return page("week.html.j2", visit, week=week)


@pages.get("/weeks/{run_id}/report.html")
def send_weekly_report(visit: Here, run_id: str) -> Response:
    with visit.history() as db:
        weeks.found(db, visit, run_id)
    return StreamingResponse(reports.report(visit, WEEKLY, run_id), media_type="text/html", headers=OF_A_REPORT)


@pages.get("/style.css")
def send_style() -> Response:
    return Response(template.asset(template.STYLE)[0], media_type="text/css", headers=KEPT)


@pages.get("/page.js")
def send_script() -> Response:
    return Response(template.asset(template.SCRIPT)[0], media_type="text/javascript", headers=KEPT)


# Instead of a page.


def _not_shown(request: Request, error: NotShown) -> HTMLResponse:
    root, above = (str(request.scope.get(name, "")).rstrip("/") for name in ("root_path", "app_root_path"))
    text = template.render("not_shown.html.j2", root, above, error=error)
    return HTMLResponse(text, status_code=error.status, headers=HEADERS)


async def _instead(request: Request, error: NotShown) -> Response:
    return _not_shown(request, error)


async def _ours(request: Request, error: Exception) -> Response:
    """Object storage away, a connection that lacks something: in our own words."""
    return _not_shown(request, NotShown(503, "That cannot be had now", str(error)))


async def _lacking(request: Request, error: ModuleNotFoundError) -> Response:
    return _not_shown(request, NotShown(503, "That cannot be had here", f"On the API server {lacking(error)}."))


async def _by_http(request: Request, error: AnyHTTPException) -> Response:
    """Whoever is not logged in is sent to the login, and back; a program that sent a token is told that it is bad."""
    if error.status_code in (401, 403) and "authorization" not in request.headers:
        back = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        above = str(request.scope.get("app_root_path", "")).rstrip("/")
        return RedirectResponse(f"{above}{request.app.state.airflow.login}?next={quote(back, safe='')}", 303)
    if error.status_code in (401, 403):
        return Response(str(error.detail), error.status_code, headers=error.headers)
    says = "There is no such page." if error.status_code == 404 else str(error.detail)
    return _not_shown(request, NotShown(error.status_code, "Not found" if error.status_code == 404 else "Not so", says))


async def _not_understood(request: Request, error: RequestValidationError) -> Response:
    says = "; ".join(f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in error.errors())
    return _not_shown(request, NotShown(400, "This address is not understood", says))


async def _broken(request: Request, _: Exception) -> Response:
    """Starlette raises it again when this is sent, so that it is logged."""
    says = "A fault of clusterbench. The log of Airflow's API server tells where."
    return _not_shown(request, NotShown(500, "This page broke", says))


ANSWERS: dict[Any, Any] = {
    NotShown: _instead,
    ClusterbenchError: _ours,
    ModuleNotFoundError: _lacking,
    AnyHTTPException: _by_http,
    RequestValidationError: _not_understood,
    Exception: _broken,
}
