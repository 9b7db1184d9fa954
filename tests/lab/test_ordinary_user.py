"""The same lab for somebody who is not root, and without a user made for it."""

from __future__ import annotations

import encodings.idna  # noqa: F401 - as psycopg below
import multiprocessing
import os
import shutil
import tempfile
from pathlib import Path

import alembic.command  # noqa: F401 - as psycopg below
import psycopg  # noqa: F401 - must be loaded before the user changes: root's Python may be in a folder of root's
import pytest

from clusterbench_lab import Lab
from clusterbench_lab.account import Account, server_account
from clusterbench_lab.layout import DATABASE_HOSTS, HOSTS, PARTITIONS
from clusterbench_lab.temporary import borrow_programs
from tests import BLOCK

pytestmark = [pytest.mark.lab, pytest.mark.skipif(os.geteuid() != 0, reason="runs as an ordinary user already")]


def _become(account: Account) -> None:
    os.setgroups([])
    os.setgid(account.group_id)
    os.setuid(account.user_id)
    os.environ["HOME"] = str(account.home)
    os.chdir("/")


def _up_and_down(lab_dir: Path, account: Account, answers: multiprocessing.Queue) -> None:
    _become(account)
    lab = Lab(lab_dir, block=BLOCK + 3, partitions=False)
    try:
        lab.up(airflow=False)
        lab.up(airflow=False)
        states = [server.state for server in lab.status() if server.kind != "airflow"]
        owners = {Path(f"/proc/{lab.pid(name)}").stat().st_uid for name in ("client", "db1_postgres", "s3")}
        answers.put((states, owners, lab_dir.stat().st_mode & 0o777))
    except BaseException as error:
        answers.put(repr(error))
        raise
    finally:
        lab.down()


@pytest.mark.long
def test_an_ordinary_user_needs_nothing_of_root() -> None:
    account = server_account()
    lab_dir = Path(tempfile.mkdtemp(prefix="clusterbench-lab-"))
    borrow_programs(lab_dir)
    for path in [lab_dir, *lab_dir.rglob("*")]:
        os.chown(path, account.user_id, account.group_id)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    process = context.Process(target=_up_and_down, args=(lab_dir, account, answers))
    process.start()
    try:
        assert answers.get(timeout=90) == (
            ["running"] * (len({*HOSTS} - PARTITIONS) + len({*DATABASE_HOSTS} - PARTITIONS) + len(("s3", "metadata"))),
            {account.user_id},
            0o700,
        )
        process.join(60)
        assert process.exitcode == 0
    finally:
        process.join(60)  # it takes the lab down, also when something above was not as it should be
        process.kill()
        shutil.rmtree(lab_dir)
