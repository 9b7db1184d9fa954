"""The 99 queries on a real PostgreSQL: every answer is DuckDB's over the same rows, and a wrong one is found."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from clusterbench.base.connections import from_file
from clusterbench.base.paths import project_root
from clusterbench.engines import as_database
from clusterbench.spec.catalog import Catalog
from clusterbench.workloads.from_duckdb import answers
from clusterbench.workloads.from_duckdb.reference import answer
from clusterbench.workloads.tpcds import data, parameters, queries, reference
from clusterbench_lab import Lab
from tests.integration.helpers import new_run, on_testbed

pytestmark = [pytest.mark.lab, pytest.mark.long]
SCALE_FACTOR, SEED = 0.1, 20160601
DATASET = data.dataset_of(SCALE_FACTOR, "heap")
TIMEOUT_S = 120
SESSIONS = 2


@dataclass(frozen=True)
class Both:
    """A session of the server under test with the experiment's settings, and one of the reference."""

    server: psycopg.Connection[Any]
    duckdb: Any

    def answer(self, sql: str) -> list[list[str | None]]:
        with self.server.cursor() as cursor, cursor.copy(f"COPY ({sql}) TO STDOUT".encode()) as copied:
            return answers.rows(b"".join(bytes(part) for part in copied).decode())

    def difference(self, number: int, values: dict[str, int | str], spoil: tuple[str, str] = ("", "")) -> str | None:
        found = self.answer(queries.text(number, values, "postgres").replace(*spoil))
        expected = answer(self.duckdb, queries.text(number, values, "duckdb"))
        return answers.difference(found, expected)


@pytest.fixture(scope="module")
def sessions(lab: Lab) -> Iterator[list[Both]]:
    lab.up(airflow=False)
    settings = Catalog(project_root()).experiment("tpcds_density").settings["postgres"]
    settings = settings | {"search_path": DATASET.table, "statement_timeout": f"{TIMEOUT_S}s"}
    with on_testbed(new_run(from_file(lab.lab_dir / "connections.json"))) as testbed, ExitStack() as closing:
        engine = as_database(testbed.engine)
        data.generate(DATASET, engine)
        duckdb = closing.enter_context(reference.database(SCALE_FACTOR))
        servers = [closing.enter_context(engine.connect()) for _ in range(SESSIONS)]
        for server in servers:
            for name, value in settings.items():
                server.execute(f"SET {name} = '{value}'".encode())
        yield [Both(server, duckdb.cursor()) for server in servers]


@pytest.fixture
def both(sessions: list[Both]) -> Both:
    return sessions[0]


@pytest.mark.parametrize("stream", [0, 1])
def test_every_answer_is_that_of_duckdb(sessions: list[Both], stream: int) -> None:
    """Stream 0 has the qualification values; the others' are drawn."""

    def told(session: int) -> dict[int, str | None]:
        mine = queries.QUERIES[session::SESSIONS]
        return {one: sessions[session].difference(one, parameters.values(one, stream, SEED)) for one in mine}

    with ThreadPoolExecutor(SESSIONS) as workers:
        found = {one: words for part in workers.map(told, range(SESSIONS)) for one, words in part.items()}
    assert len(found) == len(queries.QUERIES)
    assert {one: words for one, words in found.items() if words} == {}


def test_a_wrong_query_is_found(both: Both) -> None:
    said = both.difference(42, parameters.qualification(42), spoil=("sum(", "max("))
    assert said is not None
    assert said.startswith("row 1 was not expected: 2000 | ")
    assert "; missing is: 2000 | " in said


def test_one_changed_row_is_found(both: Both) -> None:
    """A cent more in one of 288 thousand sales, and the query that adds them up says which row."""
    with both.server.transaction(force_rollback=True):
        both.server.execute(
            "UPDATE store_sales SET ss_net_profit = ss_net_profit + 0.01 WHERE (ss_item_sk, ss_ticket_number) ="
            " (SELECT ss_item_sk, ss_ticket_number FROM store_sales JOIN date_dim ON ss_sold_date_sk = d_date_sk"
            " WHERE d_month_seq = 1200 AND ss_store_sk IS NOT NULL AND ss_net_profit IS NOT NULL LIMIT 1)"
        )
        said = both.difference(70, parameters.qualification(70))
    assert said is not None
    assert "row 1 was not expected: -" in said
    assert "3 rows too many, 3 missing, of 3" in said
    assert both.difference(70, parameters.qualification(70)) is None
