"""The thin edge to Airflow of people's remarks. What they are and what they do: ``run/remarks.py``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk import Param, get_current_context, task

from clusterbench.airflow.forms import OPTIONAL_TEXT, words_form
from clusterbench.airflow.tasks import run_step
from clusterbench.base.remarks import KINDS
from clusterbench.spec.experiment import NAME_OR_NONE

if TYPE_CHECKING:
    from clusterbench.base.remarks import Remark
    from clusterbench.run.run import Run

SAYS = {
    "note": "Note: words and tags for a run",
    "event": 'Event: what happened to platforms, such as "storage rebuilt"',
    "withdrawn": "Withdraw a run, a platform of it or a cell: it is not used for verdicts any more",
    "put_back": "Put back: use again for verdicts what was withdrawn",
}


@task
def keep() -> str:
    """Check the remark and archive it. Returns its key in the archive."""
    context = get_current_context()
    by = context["dag_run"].triggering_user_name or "the command line"
    said = {name: value for name, value in context["params"].items() if value}

    def act(run: Run) -> str:
        from clusterbench.run import remarks  # noqa: PLC0415  see the docstring of tasks.py

        return remarks.keep(run.connections, _remark(run, said, by))

    return str(run_step("keep", act))


def _remark(run: Run, said: Mapping[str, Any], by: str) -> Remark:
    from clusterbench.base.archive import find_run  # noqa: PLC0415
    from clusterbench.run.remarks import event, remark_of_run  # noqa: PLC0415

    def place(*names: str) -> dict[str, str]:
        return {name: said[name] for name in names if name in said}

    if said["kind"] == "event":
        at = datetime.fromisoformat(said["happened_at"]).replace(tzinfo=UTC) if "happened_at" in said else None
        return event(run.catalog, said["text"], by, at, **place("experiment", "platform"))
    archive = find_run(run.archive.store, said.get("run", ""))
    tags = said.get("tags", ())
    return remark_of_run(archive, said["kind"], said["text"], by, **place("platform", "cell"), tags=tags)


def form() -> dict[str, Param]:
    return {
        "kind": Param(
            "note",
            type="string",
            enum=list(KINDS),
            values_display=SAYS,
            title="Kind",
            description="What kind of remark it is.",
        ),
        "text": Param(
            "",
            type="string",
            format="multiline",
            maxLength=2000,
            title="Words",
            description="The note; or what happened; or the reason why something is withdrawn or put back.",
        ),
        "run": Param(
            None,
            type=OPTIONAL_TEXT,
            pattern=r"^([a-z][a-z0-9_]*/)?\d{8}T\d{6}Z-[0-9a-f]{6}$|^$",
            title="Run",
            description="The run: EXPERIMENT/RUN_ID, or the run id alone. Empty for an event.",
        ),
        "platform": Param(
            None,
            type=OPTIONAL_TEXT,
            pattern=NAME_OR_NONE,
            title="Platform",
            description="Only this platform; empty for all. Leave it empty for a note, which is about a whole run.",
        ),
        "cell": Param(
            None,
            type=OPTIONAL_TEXT,
            maxLength=500,
            title="Cell",
            description="Only this cell of that platform, named as on a page or in results.json; empty for all.",
        ),
        "experiment": Param(
            None,
            type=OPTIONAL_TEXT,
            pattern=NAME_OR_NONE,
            title="Experiment",
            description="Only for an event: only this experiment; empty for all.",
        ),
        "happened_at": Param(
            None,
            type=OPTIONAL_TEXT,
            pattern=r"^(\d{4}-\d\d-\d\d(T\d\d:\d\d)?)?$",
            title="When it happened",
            description="Only for an event: 2026-05-12 or 2026-05-12T08:30, in UTC. Empty: now.",
        ),
        "tags": words_form()["tags"],
    }
