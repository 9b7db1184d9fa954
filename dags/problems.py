"""Not a DAG: mistakes in the YAML files are raised here, so that Airflow's UI shows them as an import error.

They are not raised in ``benchmarks.py``, because there one broken file would take down every DAG.
"""

from __future__ import annotations

from clusterbench.base.errors import SpecError
from clusterbench.spec.catalog import project_catalog

if problems := project_catalog().lint():
    raise SpecError(problems)
