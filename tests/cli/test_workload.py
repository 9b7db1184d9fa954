"""``workload new``, as far as it needs no database."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest

from clusterbench.base.errors import SpecError
from clusterbench.cli import workload
from clusterbench.engines import Database
from clusterbench.workloads.declared.written import Counted


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


def test_a_table_that_is_not_there_is_told_with_its_statement() -> None:
    database = Answering()
    database.platform = type("Platform", (), {"platform": "lab_db1"})
    with pytest.raises(
        SpecError, match=r"no table 'guests' for the login of 'lab_db1': SELECT 1 FROM guests; write its schema"
    ):
        workload._columns(cast("Database", database), [Counted("SELECT 1\nFROM guests", 1)])
