"""Order-Entry: many small transactions at once, in TPC-C's mix, for some time (paper 003; TPC-C 5.11).

Not comparable to published TPC-C results, as the paper says of its own: no terminals, no think time, home warehouses
drawn over all, and more transactions than so small a database may be asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from clusterbench.base import database_work
from clusterbench.base.datasets import Dataset
from clusterbench.base.driver_session import session
from clusterbench.base.errors import EngineError
from clusterbench.base.factors import Factor, Level
from clusterbench.base.job import Job, json_of
from clusterbench.base.measurements import MeasurementKind, Reading
from clusterbench.base.sql import identifier, statement
from clusterbench.drivers import mix_readings, pgbench, pgbench_log
from clusterbench.drivers.rate_search import long_of
from clusterbench.engines import DURABILITY_SETTINGS
from clusterbench.hosts import resource_use
from clusterbench.workloads import (
    AS_SET,
    Share,
    cache_not_applicable,
    optimizer_setting,
    settings_chosen,
    settings_not_applicable,
)
from clusterbench.workloads.needs import LOG_LINE_BYTES, Needs
from clusterbench.workloads.order_entry import consistency, data, mix, readings, transactions

if TYPE_CHECKING:
    from clusterbench.base.records import Trial
    from clusterbench.engines import Database, Engine

PROBES = 16
"""About how many of its first, short steps a search for a utilisation lasts."""
SHORT_STEPS, LONG_STEPS = 7, 8
"""About how many a search for a rate has."""
STEP_S = 3.0
"""What a step takes besides."""
CHECK_S_PER_WAREHOUSE = 0.3
"""Before and after, measured in the lab."""
TRANSACTIONS_PER_CLIENT_S_MAX = 200
"""One in 5 ms is fast; for the room that the driver's log takes on the client host."""


class OrderEntry:
    """So many clients, each one transaction after the other without think time; ramp-up, then the measured window."""

    title = "Order-Entry transactions"
    runs_on: Literal["client", "etl"] = "client"
    outputs = pgbench.MIX_OUTPUTS
    measurements: ClassVar[Mapping[str, MeasurementKind]] = {
        **readings.MEASUREMENTS,
        **resource_use.MEASUREMENTS,
        **database_work.MEASUREMENTS,
    }
    factors: ClassVar[Mapping[str, Factor]] = {
        "warehouses": Factor(
            1,
            "The size of the data. 10 warehouses are 1.2 GB; the paper has 32000.",
            minimum=1,
            maximum=1_000_000,
            wording="{} warehouses",
            is_dataset=True,
            is_size=True,
        ),
        "clients": pgbench.MIX_FACTORS["clients"],
        "ramp_up_s": pgbench.MIX_FACTORS["ramp_up_s"],
        "window_s": pgbench.MIX_FACTORS["window_s"],
        "cpu_percent": Factor(
            0,
            "The CPU utilisation of the database hosts, in percent, up to which the load is raised. 0: the load "
            "is `clients`.",
            maximum=100,
            wording="{} % CPU",
        ),
        "probe_s": Factor(
            10,
            "The seconds of each step of the search for a load.",
            minimum=1,
            maximum=3600,
            rehearsed_least=5,
            wording="{} s a step",
        ),
        "rate_per_s": pgbench.MIX_FACTORS["rate_per_s"],
        "response_ms_p99": Factor(
            0,
            "Searches the highest rate whose 99th percentile is below this many ms "
            "(docs/order_entry.md#the-highest-rate-below-a-latency). 0: no search.",
            maximum=3_600_000,
            wording="p99 below {} ms",
            is_later=True,
        ),
        "isolation": Factor(
            "repeatable_read",
            "The isolation level of transactions. `serializable` is not applicable on Greenplum.",
            choices=("repeatable_read", "read_committed", "serializable"),
        ),
        "synchronous_commit": Factor(
            AS_SET,
            "Whether a commit waits for the disk.",
            choices=(AS_SET, "on", "off"),
            wording="synchronous_commit {}",
            setting="synchronous_commit",
        ),
        "growth_percent_max": Factor(
            10,
            "The percentage by which earlier trials may have increased the orders before the data is rebuilt. 0: "
            "rebuilt for every trial.",
            maximum=1_000,
            wording="{} % growth",
        ),
        "autovacuum": Factor(
            "on",
            "`on`: autovacuum runs during trials. `off`: tables are vacuumed before each trial, for windows too "
            "short for autovacuum.",
            choices=("on", "off"),
            wording="autovacuum {}",
        ),
        "checked_warehouses": Factor(
            100,
            "How many warehouses are checked for consistency before and after the window.",
            maximum=1_000_000,
            wording="{} warehouses checked",
        ),
        "cache": Factor(
            "ramped_up",
            "The state of the caches at the start. With `ramped_up` they stay as they are, and the ramp-up fills them.",
            choices=("ramped_up", "warm", "cold"),
        ),
    }

    @staticmethod
    def dataset(levels: Mapping[str, Level], seed: int) -> Dataset:
        return data.dataset_of(int(levels["warehouses"]), seed)

    is_generated = staticmethod(data.is_generated)
    generate = staticmethod(data.generate)
    inspect = staticmethod(data.inspect)
    checksum = staticmethod(data.checksum)

    @staticmethod
    def answers(  # conditions say it
        dataset: Dataset,  # noqa: ARG004
        trials: Sequence[Trial],  # noqa: ARG004
        engine: Engine | None = None,  # noqa: ARG004
    ) -> dict[str, Any] | None:
        return None

    def relations(self, trial: Trial) -> list[str]:
        return data.relations(self.dataset(trial.levels, trial.seed))

    def not_applicable(self, levels: Mapping[str, Level], unavailable: Mapping[str, str]) -> str | None:
        if levels.get("response_ms_p99") and (levels["cpu_percent"] or levels["rate_per_s"]):
            return "response_ms_p99 looks for a rate; take out 'cpu_percent' and 'rate_per_s', which say another load"
        if levels["isolation"] == "serializable" and "serializable" in unavailable:
            return unavailable["serializable"]
        return settings_not_applicable(self.factors, levels, unavailable) or cache_not_applicable(levels, unavailable)

    def estimate_s(self, levels: Mapping[str, Level]) -> float:
        steps = _search_s(levels)
        checked = min(int(levels["warehouses"]), int(levels["checked_warehouses"]))
        caches = 15 if levels["cache"] != "ramped_up" else 0
        return (
            10 + steps + int(levels["ramp_up_s"]) + int(levels["window_s"]) + checked * CHECK_S_PER_WAREHOUSE + caches
        )

    def needs(self, levels: Mapping[str, Level], seed: int) -> Needs:
        """What is read and written depends on how many transactions there are in the time."""
        dataset, clients = self.dataset(levels, seed), int(levels["clients"])
        declared_s = float(int(levels["ramp_up_s"]) + int(levels["window_s"]) + pgbench.BEYOND_WINDOW_S)
        return Needs(
            sessions=clients,
            relation_bytes=dataset.bytes_expected,
            relation_files=len(data.relations(dataset)),
            output_bytes=pgbench_log.LOG_KEPT_BYTES_MAX,
            client_bytes=int(declared_s * clients * TRANSACTIONS_PER_CLIENT_S_MAX * LOG_LINE_BYTES),
            declared_s=declared_s,
            search_s=_search_s(levels),
        )

    def prepare(self, trial: Trial, engine: Database) -> dict[str, object]:
        """The data fit for use and consistent, functions, settings; tables tidied up, and a checkpoint."""
        dataset = self.dataset(trial.levels, trial.seed)
        engine.reset_session()  # of a trial whose worker was lost
        ready = data.make_ready(dataset, engine, float(trial.levels["growth_percent_max"]))
        looked_at = {}
        if check := self._check(trial):
            found = engine.query(check)
            if problem := consistency.problem(found):
                raise EngineError(
                    f"{dataset.table}: not consistent before the trial: {problem}. Find out what the trial before "
                    "this one did, then drop the schema; its data is then generated again"
                )
            looked_at = {"violations": consistency.violations(found)}
        transactions.install(dataset, engine)
        settings = self._settings(trial, engine)
        engine.set_session(settings)
        autovacuum = trial.levels["autovacuum"] == "on" and "autovacuum" not in engine.unavailable
        data.tidy(dataset, engine, autovacuum=autovacuum)
        return {
            "session_settings": settings,
            "durability": engine.settings(DURABILITY_SETTINGS),
            "data": ready,
            "consistency": looked_at,
        }

    def _settings(self, trial: Trial, engine: Database) -> dict[str, str]:
        return {
            # A small table is read through its index, too, as a large one is: else all of its rows would count as read,
            # and serializable transactions on few warehouses would meet in rows that neither of them asked for.
            "enable_seqscan": "off",
            # Greenplum's default is off: it would read all of item and stock for the lines of one order.
            "enable_nestloop": "on",
            **trial.settings,
            "search_path": f"{self.dataset(trial.levels, trial.seed).table}, public",
            "default_transaction_isolation": str(trial.levels["isolation"]).replace("_", " "),
            **optimizer_setting(
                {"optimizer": "planner"}, engine.unavailable
            ),  # ORCA takes longer to plan than these to run
            **settings_chosen(self.factors, trial.levels),
        }

    def _check(self, trial: Trial) -> str:
        """The statement that checks the consistency of the trial's sample; nothing where none is asked for."""
        warehouses, asked = int(trial.levels["warehouses"]), int(trial.levels["checked_warehouses"])
        if not asked:
            return ""
        sample = consistency.sample(warehouses, min(asked, warehouses), trial.seed, trial.repetition)
        return consistency.statement(self.dataset(trial.levels, trial.seed).table, sample)

    def job(self, trial: Trial, engine: Database) -> Job:
        return self.job_of(trial, engine, Share.whole(int(trial.levels["clients"])))

    @staticmethod
    def is_spread(trial: Trial) -> bool:
        return int(trial.levels["clients"]) > 1

    def job_of(self, trial: Trial, engine: Database, share: Share) -> Job:
        """Of one driver; the first asks the database before and after."""
        levels, clients = trial.levels, share.clients
        rate_per_s = share.of_rate(float(levels["rate_per_s"]))
        questions = self._questions(trial) if share.number == 0 else {}
        load = pgbench.Mix(
            scripts=mix.scripts(),
            weights=mix.WEIGHTS,
            clients=clients,
            ramp_up_s=int(levels["ramp_up_s"]),
            window_s=int(levels["window_s"]),
            rate_per_s=rate_per_s,
            max_tries=mix.MAX_TRIES,
            protocol="prepared",
            seed=mix.random_seed(trial.seed, trial.id, clients, rate_per_s) + share.number,
            start_s=share.start_s,
            ahead_us=share.ahead_us,
            variables=mix.variables(int(levels["warehouses"])),
            before=questions.get("before", {}),
            after=questions.get("after", {}),
        )
        return pgbench.mix_job(load, engine.endpoint(pooled=False))

    def _questions(self, trial: Trial) -> dict[str, dict[str, str]]:
        """What psql asks before and after: how many orders were ever entered, and whether the conditions hold."""
        if not (check := self._check(trial)):
            return {}
        district = identifier(f"{self.dataset(trial.levels, trial.seed).table}.district")
        orders = {"orders": statement("order_entry", "orders_entered", district=district) + ";\n"}
        # most rows of the sample are asked for, so a scan may be the better way
        return {"before": orders, "after": orders | {"consistency": f"SET enable_seqscan = on;\n{check};\n"}}

    def read(self, output: Path, trial: Trial, expected: Mapping[str, Any]) -> Reading:  # noqa: ARG002  it knows
        said: dict[str, object] = {
            "driver_said": pgbench.text(output / "driver.txt"),
            "session": session(output),
            "driver_errors": pgbench.text(output / "driver_errors.txt")[-2000:],
        }
        log = pgbench_log.read_all(output)
        if log is None:
            return Reading({}, errors=1, details=said)
        clients = int(trial.levels["clients"])
        found = _found(output, is_checked=bool(trial.levels["checked_warehouses"]))
        invalid = [*mix_readings.too_few(log, readings.SCRIPTS), *readings.not_as_counted(log, found["orders_made"])]
        if found["problem"] != "none":
            invalid.append(f"after the trial: {found['problem']}")
        cpu = pgbench.driver_cpu_of_all(output)
        measured = {
            **mix_readings.measurements(log, readings.SCRIPTS, float(trial.levels["rate_per_s"])),
            "clients_used": float(clients),
        }
        facts = {"trial": f"{trial.platform}: {trial.id}", **readings.facts(log, clients=clients), **found}
        return Reading(
            measured | ({} if cpu is None else {"driver_cpu_share": cpu}),
            errors=log.failed_before_end(),
            samples=readings.samples(log),
            window_start_s=float(log.window.start),
            window_end_s=float(log.window.stop),
            invalid=tuple(invalid),
            details=said
            | mix_readings.details(log, readings.SCRIPTS, clients=clients)
            | {"facts": {"order_entry_trials": facts}},
        )

    def restore(self, trial: Trial, engine: Database) -> None:  # noqa: ARG002  as every workload has it
        engine.reset_session()


def _search_s(levels: Mapping[str, Level]) -> float:
    """The search for a load, where one is declared."""
    probe_s, window_s = float(levels["probe_s"]), float(levels["window_s"])
    if levels["cpu_percent"]:
        return PROBES * (probe_s + STEP_S)
    if levels.get("response_ms_p99"):
        long_s = long_of(window_s, probe_s) * probe_s + float(levels["ramp_up_s"])
        return SHORT_STEPS * (probe_s + STEP_S) + LONG_STEPS * (long_s + STEP_S)
    return 0.0


def _found(output: Path, *, is_checked: bool) -> dict[str, Any]:
    """Of the row for ``order_entry_trials`` what the database tells; None is what nobody asked it."""
    before = json_of(output / "before.json").get("workload") or {}
    found: dict[str, Any] = {
        "violations_before": (before.get("consistency") or {}).get("violations"),
        "violations_after": None,
        "orders_made": None,
        "problem": "none",
    }
    if not is_checked:
        return found
    names = ("before.orders", "after.orders", "after.consistency")
    if missing := [name for name in names if not (output / f"{name}.csv").exists()]:
        return found | {"problem": f"the database was not asked: there is no {', '.join(missing)}"}
    first, last, conditions = (mix_readings.rows(output / f"{name}.csv") for name in names)
    return found | {
        "violations_after": consistency.violations(conditions),
        "orders_made": int(last[0]["entered"]) - int(first[0]["entered"]),
        "problem": consistency.problem(conditions) or "none",
    }


WORKLOAD = OrderEntry()
