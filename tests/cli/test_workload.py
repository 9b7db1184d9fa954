"""``workload new``, as far as it needs no database."""

from __future__ import annotations

import re
from typing import Any, cast

from clusterbench.cli import workload
from clusterbench.engines import Database


class Answering:
    """A database that gives these rows, and keeps what it was asked."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self.rows, self.asked = list(rows), ""

    def query(self, text: str) -> list[dict[str, Any]]:
        self.asked = text
        return self.rows


def test_tables_are_looked_up_by_literals_as_greenplum_6_has_no_to_regclass_of_a_text() -> None:
    database = Answering({"table_name": "sales.o'brien", "column_name": "id", "column_type": "integer"})
    found = workload._columns(cast("Database", database), ["sales.o'brien", "not_there"])
    assert found == {"sales.o'brien": {"id": "integer"}}
    asked = re.sub("--.*", "", database.asked)
    assert re.findall(r"to_regclass\((.+?)\)", asked) == ["'sales.o''brien'", "'not_there'"], asked
