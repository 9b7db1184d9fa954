"""What the lab fetches once, whoever asks: S3Proxy and Hadoop by Maven, and a vCenter's simulator by Go."""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path

from clusterbench_lab import s3, vcenter
from clusterbench_lab.account import server_account
from clusterbench_lab.hadoop import HadoopJars
from clusterbench_lab.layout import DEFAULT_BLOCK, Layout

_PARTS = {"s3proxy": ("lib",), "hadoop": ("lib", "classes"), "vcsim": ("bin",)}


def fetch(lab_dir: Path, *, hypervisor: bool = False) -> None:
    """Into the folder of a lab, which need not be up. What is there is not fetched again.

    One after the other, however many ask: two Mavens would write to one place.
    """
    lab_dir.mkdir(exist_ok=True)
    with (lab_dir / "programs.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        account = server_account()
        s3.install(account, lab_dir / "s3proxy")
        HadoopJars(Layout(lab_dir, DEFAULT_BLOCK), account).up()
        if hypervisor:
            vcenter.install(lab_dir / "vcsim")


def copy(lender: Path, lab_dir: Path) -> None:
    """From the folder of one lab to that of another."""
    for program, parts in _PARTS.items():
        for part in parts:
            if (lender / program / part).exists():  # a lab without a hypervisor does without its simulator
                shutil.copytree(lender / program / part, lab_dir / program / part)
