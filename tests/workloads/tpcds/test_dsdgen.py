"""The chunks in which dsdgen's rows are made, and the program that makes them, without a host."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from clusterbench.workloads.tpcds import chunk_loading, dsdgen, reference_on_host, schema
from clusterbench.workloads.tpcds.dsdgen import Chunk


@pytest.mark.parametrize("scale_factor", [0.01, 1, 10, 1000])
def test_chunks_are_numbered_from_1_to_how_many_there_are_of_every_table(scale_factor: float) -> None:
    made = dsdgen.chunks(scale_factor)
    assert {chunk.table for chunk in made} == set(schema.tables())
    for table, count in Counter(chunk.table for chunk in made).items():
        mine = [chunk for chunk in made if chunk.table == table]
        assert sorted(chunk.number for chunk in mine) == list(range(1, count + 1))
        assert {chunk.of for chunk in mine} == {count}
    assert len({chunk.name for chunk in made}) == len(made)
    assert max(chunk.bytes for chunk in made) <= dsdgen.CHUNK_BYTES


def test_only_tables_that_grow_have_several_and_the_largest_chunks_come_first() -> None:
    made = dsdgen.chunks(1000)
    assert {chunk.table for chunk in made if chunk.of > 1} == set(dsdgen.LARGE)
    assert [chunk.bytes for chunk in made] == sorted((chunk.bytes for chunk in made), reverse=True)
    assert 3000 < len(made) < 5000


def test_chunks_of_a_scale_factor_are_always_the_same() -> None:
    assert dsdgen.chunks(10) == dsdgen.chunks(10.0)


def test_a_host_needs_room_for_the_chunks_that_it_makes_at_once_only() -> None:
    assert chunk_loading.files_bytes(0.01) == dsdgen.bytes_expected(0.01)
    assert chunk_loading.files_bytes(1000) == chunk_loading.files_bytes(100) < 6e9 < dsdgen.bytes_expected(1000) / 100


def part(chunk: Chunk, scale_factor: float) -> bytes:
    asked = ["--tables", chunk.table, "--part", str(chunk.number), "--parts", str(chunk.of)]
    command = [
        dsdgen.program_file(),
        "tpcds",
        "dat",
        "--scale-factor",
        str(scale_factor),
        *asked,
        "--stdout",
        "--quiet",
    ]
    return subprocess.run(command, check=True, capture_output=True).stdout


def test_parts_are_the_table_and_only_the_generator_s_own_tables_have_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its small tables are in part 1 whatever is asked. Sales of 0.3 have a million rows for it, as inventory has."""
    whole = part(Chunk("web_returns", 1, 1, 0), 0.01)
    assert len(whole.splitlines()) == 1152
    monkeypatch.setattr(dsdgen, "CHUNK_BYTES", 1_500_000)
    made = sorted((one for one in dsdgen.chunks(0.01) if one.table == "inventory"), key=lambda one: one.number)
    assert len(made) > 2
    assert b"".join(part(chunk, 0.01) for chunk in made) == part(Chunk("inventory", 1, 1, 0), 0.01)


def test_a_chunk_is_counted_as_its_rows_are_read(tmp_path: Path) -> None:
    """By the same program's library: rows, and a checksum that does not depend on their order."""
    text = part(Chunk("reason", 1, 1, 0), 1)
    file = tmp_path / "reason"
    file.write_bytes(text)
    with duckdb.connect() as connection:
        connection.execute(dsdgen.read_sql("reason", file))
        found = connection.execute("SELECT count(*), max(r_reason_desc) FROM reason").fetchall()
    assert found == [(75, "unauthoized purchase")]
    without_end = b"".join(line[:-1] + b"\n" for line in text.splitlines())
    file.write_bytes(without_end)
    script = dsdgen.count_sql("reason").replace("/dev/stdin", str(file))
    with duckdb.connect() as connection:
        forwards = connection.execute(script).fetchall()
    file.write_bytes(b"\n".join(reversed(without_end.splitlines())) + b"\n")
    with duckdb.connect() as connection:
        assert connection.execute(script).fetchall() == forwards
    assert forwards[0][0] == 75 and int(forwards[0][1]) > 0


def test_the_answers_of_other_rows_are_kept_elsewhere() -> None:
    places = {
        reference_on_host.folder(reference_on_host.Rows(whose, size))
        for whose in ("duckdb", "dsdgen")
        for size in (1, 10)
    }
    assert len(places) == 4
