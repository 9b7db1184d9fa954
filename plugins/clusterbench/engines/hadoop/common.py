"""What every Hadoop does alike for workloads, whoever runs it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from clusterbench.engines.flush import Flushed
from clusterbench.engines.hadoop import hdfs, yarn
from clusterbench.engines.hadoop.client import HadoopClient


class HadoopEngine(HadoopClient):
    """Reached over SSH alone; of a managed one only the client host."""

    parameters_unknown: Sequence[str] = ()
    """Of what ``configure`` set: what no daemon told before, be it as a default. It may be misspelled."""

    @abstractmethod
    def restart(self) -> None:
        """All daemons stopped and started, and HDFS ready to be written; what is in it stays."""

    @abstractmethod
    def reboot(self) -> dict[str, float]:
        """As ``restart``, with all machines booted again in between. Returns host -> seconds until it answered."""

    @abstractmethod
    def configure(self, settings: Mapping[str, str]) -> None:
        """The daemons with the settings of the platform's file, except for these. Restarts them if necessary."""

    @abstractmethod
    def settings(self, names: Iterable[str]) -> dict[str, str]:
        """In force, as the daemons tell them; one that none of them tells is not in it."""

    @abstractmethod
    def free_bytes(self) -> int:
        """Replicas counted each."""

    def flush_caches(self) -> Sequence[Flushed]:
        """That of the workers' file systems; daemons keep none."""
        return [hdfs.flush(self)]

    def empty_page_cache(self) -> str:
        """On every worker, where the platform's file allows it. Returns what was done, in words."""
        return hdfs.empty_page_cache(self)

    def counters(self) -> dict[str, int]:
        return {}

    def exists(self, path: str) -> bool:
        return hdfs.exists(self, path)

    def delete(self, path: str) -> None:
        """With all below it; nothing where it is not there."""
        hdfs.delete(self, path)

    def clear(self, tag: str) -> None:
        """End what still runs of the applications with this tag, and remove what those that were ended have staged."""
        yarn.clear(self, tag)

    @abstractmethod
    def settle(self) -> list[str]:
        """See that no chore of HDFS runs beside a trial. Returns what runs nevertheless, in words."""
