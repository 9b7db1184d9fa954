"""The thin edge to Airflow of the questions about baselines. What they ask and what an answer does: ``baselines``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import Context, Param, get_current_context, task

from clusterbench.airflow.tasks import airflow_connections, run_step
from clusterbench.base.run_ids import WEEKLY
from clusterbench.history.changes import QUESTION_DAYS

if TYPE_CHECKING:
    from clusterbench.run.run import Run


@task
def questions() -> list[dict[str, Any]]:
    """Find the questions: one for each experiment and platform with regressions that nobody was asked about yet."""
    from clusterbench.run import baselines  # noqa: PLC0415  see the docstring of tasks.py

    asked_by = get_current_context()["dag_run"].run_id
    found = run_step("questions", lambda run: baselines.questions(run, asked_by), of=_week)
    return [question.as_json() for question in found]


class AskForBaseline(HITLOperator):
    """A question to whoever opens it in Airflow's UI, under Required Actions. Its answer is archived at once."""

    template_fields: Collection[str] = ()  # words of results are no templates

    def __init__(self, *, asked: dict[str, str], **kwargs: Any) -> None:
        from clusterbench.run.baselines import KEEP, options  # noqa: PLC0415

        super().__init__(
            options=options(asked),
            multiple=len(asked) > 1,
            defaults=KEEP,
            response_timeout=timedelta(days=QUESTION_DAYS),
            **kwargs,
        )
        self.asked = asked

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        from clusterbench.run import baselines  # noqa: PLC0415

        answer = super().execute_complete(context, event)
        said = baselines.Answer(
            chosen=answer["chosen_options"],
            by=(event["responded_by_user"] or {}).get("name") or "",
            at=event["responded_at"],
            asked_by=context["dag_run"].run_id,
        )
        run_step("question", lambda run: baselines.record(run, self.asked, said), of=_week)
        return answer


def _week(context: Mapping[str, Any]) -> Run:
    from clusterbench.run.run import Run  # noqa: PLC0415

    return Run(WEEKLY, context["params"]["week"], airflow_connections)


def form() -> dict[str, Param]:
    return {
        "week": Param(
            "",
            type="string",
            pattern=r"^\d{8}T\d{6}Z-[0-9a-f]{6}$|^$",
            title="Week",
            description="The run id of the weekly run whose regressions are asked about. The weekly run fills it in.",
        )
    }
