"""The specification's rows of TPC-DS: made by two hosts at once in chunks, loaded, gone on with, checked, answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from clusterbench.base.connections import from_file
from clusterbench.base.errors import DatasetError
from clusterbench.base.paths import project_root
from clusterbench.engines import BulkLoad, Database, as_database, engine_class
from clusterbench.hosts.fleet import Fleet
from clusterbench.run.validation import validate
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.platform import Host, IndependentAnswers
from clusterbench.workloads import etl_files
from clusterbench.workloads.from_duckdb import answers, marks
from clusterbench.workloads.from_duckdb.reference import answer
from clusterbench.workloads.tpcds import (
    chunk_loading,
    chunk_making,
    data,
    dsdgen,
    parameters,
    queries,
    reference,
    reference_on_host,
    schema,
)
from clusterbench_lab import Lab

pytestmark = [pytest.mark.lab, pytest.mark.long]
SCALE_FACTOR = 0.01
DATASET = data.dataset_of(SCALE_FACTOR, "heap", generator="dsdgen")
HOSTS = ("etl", "etl2")
ASKED = (3, 7, 15, 37, 42, 52, 96)


@pytest.fixture(scope="module")
def small_chunks() -> Iterator[None]:
    """So that large tables have several also at this scale factor; what hardly grows at all is one chunk as ever."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(dsdgen, "CHUNK_BYTES", 2_000_000)
        yield


@pytest.fixture(scope="module")
def engine(lab: Lab, small_chunks: None) -> Iterator[Database]:
    lab.up(airflow=False)
    connections = from_file(lab.lab_dir / "connections.json")
    platform = Catalog(project_root()).platform("lab_db1")
    hosts = platform.hosts | {"etl2": Host(ssh="lab_db2", roles=["etl"])}
    platform = platform.model_copy(update={"hosts": hosts})
    with Fleet.of(platform, connections) as fleet:
        yield as_database(engine_class(platform)(platform, fleet, connections(str(platform.database))))


@pytest.fixture(scope="module")
def duckdb() -> Iterator[Any]:
    with reference.database(SCALE_FACTOR, "dsdgen") as database:
        yield database


def loaded(engine: Database) -> set[tuple[str, int]]:
    rows = engine.query(f"SELECT table_name, chunk FROM {DATASET.table}.chunks")
    return {(row["table_name"], row["chunk"]) for row in rows}


def left_on_hosts(engine: Database) -> str:
    return "".join(
        engine.fleet.run_on(host, f"ls -d {work}/files/{DATASET.table}-chunks* 2>/dev/null || true").output
        for host, work in engine.fleet.work_dirs(HOSTS).items()
    )


def test_a_load_that_is_cut_off_goes_on_with_the_chunks_that_are_missing(
    engine: Database, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first psql that has the second chunk of store_sales is killed in the middle of its transaction."""
    statements = chunk_loading._Making._statements

    def dying(self: Any, chunk: dsdgen.Chunk, *others: Any) -> list[str]:
        said = statements(self, chunk, *others)
        return [*said[:-1], r"\! kill -KILL $PPID", said[-1]] if chunk.name == "store_sales-00002" else said

    with monkeypatch.context() as patched:
        patched.setattr(chunk_loading._Making, "_statements", dying)
        with pytest.raises(DatasetError, match=r"^tpcds_sf0_01_dsdgen: \d+ of \d+ chunks are loaded, and stay; host '"):
            data.generate(DATASET, engine)
    before = loaded(engine)
    assert ("store_sales", 2) not in before
    assert before, "what was loaded stays"
    assert not data.is_generated(DATASET, engine)

    made: list[dsdgen.Chunk] = []
    make = chunk_making.Maker.make

    def noting(self: chunk_making.Maker, batch: list[dsdgen.Chunk], scale_factor: float) -> Any:
        made.extend(batch)
        return make(self, batch, scale_factor)

    monkeypatch.setattr(chunk_making.Maker, "make", noting)
    data.generate(DATASET, engine)
    assert {(chunk.table, chunk.number) for chunk in made}.isdisjoint(before)
    assert len(made) + len(before) == len(dsdgen.chunks(SCALE_FACTOR))
    assert len([chunk for chunk in dsdgen.chunks(SCALE_FACTOR) if chunk.table == "store_sales"]) > 1
    said = capsys.readouterr().out
    assert all(f"; {host}: " in said for host in HOSTS), "both hosts had a part in it"
    assert left_on_hosts(engine) == ""
    assert engine.query(f"SELECT to_regclass('{DATASET.table}.chunks') AS found") == [{"found": None}]


def test_every_row_is_as_the_generator_makes_it_and_answers_are_duckdb_s_over_the_same_rows(
    engine: Database, duckdb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data.generate(DATASET, engine)
    assert set(marks.read(DATASET, schema.tables(), engine)) == set(schema.tables())
    found: dict[str, Any] = data.inspect(DATASET, engine)
    of_tables = found.pop("tables")
    verdicts = validate("tpcds_tables", of_tables)
    counted = {row["table"]: row for row in of_tables}
    for name in schema.tables():
        rows = duckdb.execute(f"SELECT count(*) FROM {name}").fetchall()
        assert rows == [(counted[name]["row_count"],)], name
    with engine.connect() as session:  # type: ignore[attr-defined]
        session.execute(f"SET search_path = {DATASET.table}")
        session.execute("SET enable_nestloop = off")
        for query in ASKED:
            values = parameters.values(query, 0, 1)
            text = queries.text(query, values, "postgres")
            with session.cursor() as cursor, cursor.copy(f"COPY ({text}) TO STDOUT") as copied:
                mine = answers.rows(b"".join(bytes(part) for part in copied).decode())
            theirs = answer(duckdb, queries.text(query, values, "duckdb"))
            assert answers.difference(mine, theirs) is None, query
    monkeypatch.setattr(reference, "database", lambda *_: nullcontext(duckdb))  # once is enough for these tests
    found["checksum_expected"] = data.checksum(DATASET)
    verdicts += validate("tpcds", [found])
    assert [f"{verdict.says}: {verdict.found}" for verdict in verdicts if not verdict.passed] == []
    data.drop(DATASET, engine)


@pytest.mark.parametrize("generator", data.GENERATORS)
def test_answers_on_a_declared_host_are_those_on_the_worker_and_are_computed_once(
    engine: Database, duckdb: Any, generator: str
) -> None:
    texts = {f"q{query:02d}.0": queries.text(query, parameters.values(query, 0, 1), "duckdb") for query in ASKED}
    rows, place = reference_on_host.Rows(generator, SCALE_FACTOR), IndependentAnswers(host="etl", memory_gb=1)
    found = reference_on_host.answers(texts, rows, place, engine.fleet)
    with nullcontext(duckdb) if generator == "dsdgen" else reference.database(SCALE_FACTOR) as database:
        for key, text in texts.items():
            assert sorted(found[key], key=str) == sorted(answer(database, text), key=str), key
    folder = f"{engine.fleet.work_dir('etl')}/{reference_on_host.folder(rows)}"
    look = f"cd {folder} && ls && stat --format=%y answers/* | sha256sum"
    before = engine.fleet.run_on("etl", look).output
    assert before.split()[0] == "answers", "the rows are gone"
    assert reference_on_host.answers(texts, rows, place, engine.fleet) == found
    assert engine.fleet.run_on("etl", look).output == before
    if generator == "duckdb":  # whose rows are made anew in no time
        with pytest.raises(DatasetError, match=r"^host 'etl': Catalog Error: Table with name no_such_table"):
            reference_on_host.answers({"q01.0": "SELECT * FROM no_such_table"}, rows, place, engine.fleet)
    engine.fleet.run_on("etl", f"rm -rf {folder}")


PORT = 28086
SERVER = f"""
python3 -m http.server --bind 127.0.0.1 --directory files {PORT} >/dev/null 2>&1 &
echo $! >servers.txt
until (exec 3<>/dev/tcp/127.0.0.1/{PORT}) 2>/dev/null; do sleep 0.05; done
"""


def test_file_servers_run_on_a_host_while_others_load_from_it_and_no_longer(engine: Database) -> None:
    """Any file server will do: what serves the files of a Greenplum is started and ended in the same way."""
    path = f"{engine.fleet.work_dir('etl2')}/files/served"
    engine.fleet.put("etl2", path, {"chunk": "1|2\n"})
    ask = f"curl --silent --fail http://127.0.0.1:{PORT}/chunk"
    load = BulkLoad([], before=SERVER, after="kill $(cat servers.txt)")
    with etl_files.serving(engine.fleet, "etl2", "files/serving", path, load):
        assert engine.fleet.run_on("etl", ask).output == "1|2\n"
    assert engine.fleet.run_on("etl", ask, check=False).exit_status == 7, "nobody listens"
    absent = BulkLoad([], before="echo 'gpfdist is not installed' >&2; exit 1")
    with (
        pytest.raises(DatasetError, match=r"^host 'etl2': its file servers do not start: gpfdist is not installed$"),
        etl_files.serving(engine.fleet, "etl2", "files/serving", path, absent),
    ):
        pytest.fail("it went on")
