"""Labs of the tests' own, beside the project's: real servers, on addresses of their own, stopped at the end.

What a test takes down or spoils it brings up again.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

if "AIRFLOW_HOME" not in os.environ:  # before anything imports Airflow: there it would write its own settings
    os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="clusterbench-airflow-")
    atexit.register(shutil.rmtree, os.environ["AIRFLOW_HOME"], ignore_errors=True)
os.environ.setdefault("AIRFLOW__CORE__LOAD_EXAMPLES", "false")

import pytest

from clusterbench.base.connections import Connections, from_file
from clusterbench_lab import Lab, temporary_lab
from clusterbench_lab.temporary import remove_orphans
from tests import BLOCK

TOGETHER = {
    "tests/integration/test_chaos.py": "tests/integration/test_airflow.py",
    "tests/integration/test_ui.py": "tests/integration/test_airflow.py",
    "tests/integration/test_ui_roles.py": "tests/integration/test_airflow.py",
    "tests/lab/test_airflow.py": "tests/integration/test_airflow.py",
}
"""Modules that share the lab with Airflow: one process has it, and runs them one after the other."""
LONGEST_FIRST = (
    "tests/integration/test_hadoop.py",
    "tests/integration/test_airflow.py",
    "tests/integration/test_managed_hadoop.py",
    "tests/integration/test_own_project.py",
    "tests/integration/test_layouts.py",
    "tests/integration/test_trial.py",
    "tests/integration/test_retail.py",
    "tests/integration/test_tpcds_queries.py",
    "tests/integration/test_collapse.py",
    "tests/integration/test_tpcds_density.py",
    "tests/field/test_experiments.py",
)
"""These begin before all others, so that none of them is still at work when everything else has ended."""


SHARE = re.compile(r"([1-9]\d*)/([1-9]\d*)\Z")
"""``--share 2/5``: every fifth of the modules that take minutes, beginning with the second."""
SPLIT = {"tests/integration/test_airflow.py", "tests/integration/test_hadoop.py"}
"""Modules whose long tests are shared out one by one: together they would take longer than all others of a share."""

SERVERS = {"lab", "lab_with_airflow", "browser"}
"""Who asks for one of these fixtures is marked as a test that needs it."""


_LAB_WITH_AIRFLOW = pytest.StashKey[Lab]()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Who runs the tests side by side ends what a process left that was killed, such as by Ctrl-C."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        remove_orphans()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", default="1/1", help="of the tests marked 'long' only a share, such as 2/5: see SHARE")


@pytest.hookimpl(tryfirst=True)  # before those that were not asked for are left out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if SERVERS.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("lab")
    items.sort(key=_place)
    left = outside_share(config.getoption("--share"), items)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


def outside_share(said: str, items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests marked ``long`` that are not of this share. All shares together are all of them, each once."""
    found = SHARE.match(said)
    if not found or int(found[1]) > int(found[2]):
        raise pytest.UsageError(f"--share {said}: write K/N with K from 1 to N, such as 2/5")
    share, shares = int(found[1]), int(found[2])
    long = [item for item in items if item.get_closest_marker("long")]
    units = list(dict.fromkeys(_unit(item.nodeid) for item in long))
    mine = set(units[share - 1 :: shares])
    return [item for item in long if _unit(item.nodeid) not in mine]


def _unit(nodeid: str) -> str:
    """What is in one share as a whole: a module, or a single test of one that is split."""
    module = nodeid.partition("::")[0]
    return nodeid if module in SPLIT else module


def _place(item: pytest.Item) -> tuple[int, bool]:
    """The long modules, then all that need servers, then the others."""
    group = _group(item.nodeid)
    place = LONGEST_FIRST.index(group) if group in LONGEST_FIRST else len(LONGEST_FIRST)
    return place, item.get_closest_marker("lab") is None


def _group(nodeid: str) -> str:
    """A module's tests stay together, in their order, as they share servers and what was measured on them."""
    module = nodeid.partition("::")[0]
    return TOGETHER.get(module, module)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """xdist's own groups (``--dist loadgroup``) do not work with pytest 9.2, which keeps a test's id elsewhere."""
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(nodeid)

    return ByGroup(config, log)


AIRFLOW_ENVIRONMENT = {
    "CLUSTERBENCH_PLATFORMS": "lab_db1,lab_db2,lab_hadoop1,lab_ideal,lab_native",
    "CLUSTERBENCH_RETRY_DELAY_S": "1",
    "CLUSTERBENCH_PATIENCE_MINUTES": "0.2",
    "CLUSTERBENCH_WEEKLY_DEADLINE_HOURS": "0.01",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "5",
    "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "600",
}
"""A platform of each kind: where all of an experiment's fail, one more costs half a minute and proves nothing more.
Hosts that these tests take down stay down, so nobody is patient. What was killed is looked for more often; DAGs are
seldom read again, as none of these tests changes one."""


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    with temporary_lab(block=BLOCK) as made:
        yield made


@pytest.fixture(scope="session")
def lab_with_airflow(pytestconfig: pytest.Config) -> Iterator[Lab]:
    with temporary_lab(block=BLOCK + 1, airflow=True, environment=AIRFLOW_ENVIRONMENT) as made:
        pytestconfig.stash[_LAB_WITH_AIRFLOW] = made
        yield made


@pytest.hookimpl(trylast=True)  # when what the last test has used is put away
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Airflow takes a tenth of a processor as long as it runs, and the tests of other modules take all there is."""
    lab = item.config.stash.get(_LAB_WITH_AIRFLOW, None)
    if lab and nextitem and _group(nextitem.nodeid) not in TOGETHER.values():
        lab.down(at_once=True)
        del item.config.stash[_LAB_WITH_AIRFLOW]


@pytest.fixture
def connections(lab: Lab) -> Connections:
    lab.up(airflow=False)  # mends what another test took down
    return from_file(lab.lab_dir / "connections.json")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        found = started.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield found
        found.close()
