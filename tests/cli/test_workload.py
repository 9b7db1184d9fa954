"""``workload new``, as far as it needs no database."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest

from clusterbench.base.errors import SpecError
from clusterbench.cli import workload
from clusterbench.engines import Database
from clusterbench.workloads.declared.counted import Counted


class Answering:
    """A database that gives these rows, and keeps what it was asked."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self.rows, self.asked = list(rows), ""
        self.platform: Any = None

    def query(self, text: str) -> list[dict[str, Any]]:
        self.asked = text
        return self.rows


def test_tables_are_looked_up_by_literals_as_greenplum_6_has_no_to_regclass_of_a_text() -> None:
    database = Answering({"table_name": "sales.o'brien", "column_name": "id", "column_type": "integer"})
    counted = [Counted("""SELECT 1 FROM sales."o'brien" """, 1)]
    assert workload._columns(cast("Database", database), counted) == {"sales.o'brien": {"id": "integer"}}
    asked = re.sub("--.*", "", database.asked)
    assert re.findall(r"to_regclass\((.+?)\)", asked) == ["""'"sales"."o''brien"'"""], asked


def test_statements_about_tables_that_are_not_there_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    known = {"shop.guests": {"id": "integer"}}
    gone, there = Counted("SELECT 1\nFROM guests", 1), Counted("SELECT 1 FROM shop.guests", 1)
    assert workload._those_there([gone, there], known, "lab_db1") == [there]
    assert capsys.readouterr().out == (
        "left out: SELECT 1 FROM guests: there is no table 'guests' for the login of 'lab_db1'; write its schema, "
        "such as shop.guests (a SET search_path is not followed)\n"
    )
    workload._those_there([there], known, "lab_db1")
    assert capsys.readouterr().out == ""
    with pytest.raises(SpecError, match="no table 'guests'"):
        workload._those_there([gone], known, "lab_db1")
