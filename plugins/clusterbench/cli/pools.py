"""``clusterbench pools``: Airflow's pools, one slot for each cluster, so that one run at a time has it."""

from __future__ import annotations

import argparse

from clusterbench.base.paths import lab_dir
from clusterbench.cli.common import OK
from clusterbench.spec.catalog import Catalog, project_catalog
from clusterbench.spec.platform import pool_of


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    pools = commands.add_parser(
        "pools", help="create the pool of every cluster in Airflow, so that one run at a time has it"
    )
    pools.set_defaults(command=lambda _options: make_pools())


def make_pools() -> int:
    """Make those that are not there, and say which."""
    from clusterbench.airflow.api import AirflowApi  # noqa: PLC0415

    names = pool_names(project_catalog())
    made = AirflowApi.from_environment(lab_dir()).ensure_pools(names)
    print(f"pools: {', '.join(names)}; made now: {', '.join(made) or 'none'}")
    return OK


def pool_names(catalog: Catalog) -> dict[str, str]:
    """The pool of every cluster -> what it is for."""
    return {pool_of(platform): f"One run at a time on cluster {platform.cluster}" for platform in catalog.platforms()}
