"""The lab: real servers on this machine (sshd, PostgreSQL, S3, Airflow), up and down as one.

Everything it writes is below one folder, `.lab`; everything it listens on is in 127.0.0.0/8.
"""

from __future__ import annotations

from clusterbench.lab.command import main
from clusterbench.lab.lab import Lab
from clusterbench.lab.server import ServerStatus
from clusterbench.lab.temporary import temporary_lab

__all__ = ["Lab", "ServerStatus", "main", "temporary_lab"]
