"""One self-contained HTML page per run."""

from __future__ import annotations

from clusterbench.archive import RunArchive
from clusterbench.catalog import Catalog


def render_report(archive: RunArchive, catalog: Catalog) -> str:
    return "<html></html>"
