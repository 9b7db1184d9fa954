"""What a host can be in a cluster."""

from typing import Literal

Role = Literal["client", "etl", "coordinator", "segment", "namenode", "resourcemanager", "worker"]
