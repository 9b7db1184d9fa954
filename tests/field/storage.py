"""The archive of runs in the field: the lab's S3 server alone, without the rest of a lab."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clusterbench.base.archive import CONNECTION_ID
from clusterbench.base.connections import Connection, Connections, from_parts
from clusterbench_lab import s3
from clusterbench_lab.account import server_account
from clusterbench_lab.credentials import Credentials
from clusterbench_lab.layout import BUCKET, PROJECT_DIR, Layout
from clusterbench_lab.s3 import S3Server

LENDER = PROJECT_DIR / ".lab" / "s3proxy"


@contextmanager
def object_storage(block: int) -> Iterator[S3Server]:
    """Up on entry, gone on exit. Its folder is named as those of temporary labs: one whose maker died is found."""
    account = server_account()
    folder = Path(tempfile.mkdtemp(prefix=f"clusterbench-lab-{os.getpid()}-"))
    folder.chmod(0o711)
    server = S3Server(Layout.load(folder, block), account, Credentials.load_or_make(folder / "credentials.json"))
    try:
        server.layout.records_dir.mkdir()
        s3.install(account, LENDER)
        shutil.copytree(LENDER / "lib", server.program_dir / "lib")
        server.up()
        yield server
    finally:
        server.down()
        shutil.rmtree(folder, ignore_errors=True)


def connection(server: S3Server, endpoint_url: str = "") -> dict[str, Any]:
    """Its connection, or that of a proxy before it."""
    return {
        "login": server.credentials.s3_access_key,
        "password": server.credentials.s3_secret_key,
        "extra": {"endpoint_url": endpoint_url or server.endpoint_url, "bucket": BUCKET, "region_name": "us-east-1"},
    }


def archived(connections: Connections, parts: dict[str, Any]) -> Connections:
    """These connections, and that of the archive."""

    def find(conn_id: str) -> Connection:
        return from_parts(conn_id, parts) if conn_id == CONNECTION_ID else connections(conn_id)

    return find
