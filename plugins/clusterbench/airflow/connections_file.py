"""Where Airflow finds connections that stand in a JSON file, however many they are.

Airflow's own LocalFilesystemBackend reads the whole file and makes each of its connections, twice for every one that is
asked for. A trial asks for one per host, so that would be 3 s of each trial with 64 hosts, and minutes with 640.
"""

from __future__ import annotations

import json
import logging
from functools import lru_cache
from pathlib import Path
from typing import Any

from airflow.secrets import BaseSecretsBackend

log = logging.getLogger(__name__)


class ConnectionsFile(BaseSecretsBackend):
    """``[secrets] backend``; its ``backend_kwargs`` name the file, as those of LocalFilesystemBackend do.

    The file is read again when it has changed. Each connection is an object of Airflow's JSON format, or a URI.
    """

    def __init__(self, connections_file_path: str) -> None:
        super().__init__()
        self.path = Path(connections_file_path)

    def get_conn_value(self, conn_id: str, team_name: str | None = None) -> str | None:
        """The connection's text; None if it is not in the file, and Airflow looks elsewhere."""
        del team_name  # a file has none
        try:
            is_now = self.path.stat()
            found = _read(self.path, (is_now.st_mtime_ns, is_now.st_size, is_now.st_ino)).get(conn_id)
        except (OSError, ValueError) as error:
            # Airflow looks elsewhere and at last says that there is no such connection, which would mislead.
            log.error("no connection can be read from %s: %s", self.path, error)
            raise
        return found if isinstance(found, str | None) else json.dumps(found)


@lru_cache(maxsize=1)
def _read(path: Path, _version: tuple[int, ...]) -> dict[str, Any]:
    known: dict[str, Any] = json.loads(path.read_text())
    return known
