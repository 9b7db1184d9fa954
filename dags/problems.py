"""No DAG: mistakes in the YAML files, raised here so that Airflow's UI shows them as an import error.

They are not raised in ``benchmarks.py``, because there one broken file would take down every DAG.
"""

from __future__ import annotations

from clusterbench.catalog import Catalog
from clusterbench.errors import SpecError
from clusterbench.paths import project_root

if problems := Catalog(project_root()).lint():
    raise SpecError(problems)
