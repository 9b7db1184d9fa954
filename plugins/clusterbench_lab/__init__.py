"""The lab: real servers on this machine (sshd, PostgreSQL, S3, Airflow), up and down as one.

Everything it writes is below one folder, `.lab`; everything it listens on is in 127.0.0.0/8.
"""

from __future__ import annotations

from clusterbench_lab.command import main
from clusterbench_lab.lab import Lab
from clusterbench_lab.server import ServerStatus
from clusterbench_lab.temporary import temporary_lab

__all__ = ["Lab", "ServerStatus", "main", "temporary_lab"]
