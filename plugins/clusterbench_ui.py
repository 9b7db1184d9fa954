"""What Airflow finds of the pages of results. The plugin is in ``clusterbench.airflow.ui.plugin``."""

from __future__ import annotations

from clusterbench.airflow.ui.plugin import ClusterbenchUI

__all__ = ["ClusterbenchUI"]
