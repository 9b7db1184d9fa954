"""The transactions' functions, installed beside the tables that they work on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterbench.base.datasets import Dataset
from clusterbench.base.paths import all_files
from clusterbench.base.sql import quoted

if TYPE_CHECKING:
    from clusterbench.engines import Database


def install(dataset: Dataset, engine: Database) -> None:
    """All at once, over those of an earlier version. They find their tables by the session's ``search_path``."""
    texts = [path.read_text(encoding="utf-8") for path in all_files("include/sql/order_entry/functions", "*.sql")]
    engine.execute(f"SET search_path = {quoted(dataset.table)};\n" + "\n".join(texts))
