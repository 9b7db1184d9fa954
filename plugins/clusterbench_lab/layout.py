"""Where things are: the lab's folders, and the address and port of each server.

Addresses come from one block, 127.0.N.x, so that labs can stand side by side. A port is chosen when a
server is first started, kept in `lab.json`, and changed only when somebody else has taken it meanwhile.
"""

from __future__ import annotations

import json
import socket
import threading
from dataclasses import dataclass, field
from pathlib import Path

from clusterbench.base.errors import LabError
from clusterbench_lab.account import write_private

PROJECT_DIR = Path(__file__).resolve().parents[2]
TEMPLATES_DIR = PROJECT_DIR / "include" / "lab"

WORKERS = tuple(f"worker{number}" for number in range(1, 7))
VMS = tuple(f"vm{number}" for number in range(1, 5))
NATIVE, VM64 = "native", "vm64"
RETAIL = {"retail_native": 1, "retail_vm1": 1, "retail_vm2_": 2, "retail_vm4_": 4}
"""What the databases of paper 000 are called -> how many parts of a server they are."""
RETAIL_HOSTS = tuple(
    f"{name}{number}" if parts > 1 else name for name, parts in RETAIL.items() for number in range(1, parts + 1)
)
TERASORT_SERVERS = 3
"""Three replicas are kept apart by machine."""
TERASORT = {"terasort_native_": 1, "terasort_vm1_": 1, "terasort_vm2_": 2}
"""What the workers of paper 002 are called -> how many parts of a server each is."""
TERASORT_HOSTS = tuple(
    f"{name}{number}" for name, parts in TERASORT.items() for number in range(1, TERASORT_SERVERS * parts + 1)
)
PARTITIONS = frozenset((*RETAIL_HOSTS, *TERASORT_HOSTS))
"""Of one server each is a part, or the whole."""
DATABASE_HOSTS = ("db1", "db2", *VMS, NATIVE, VM64, *RETAIL_HOSTS)
HOSTS = ("client", "etl", *DATABASE_HOSTS, "master", *WORKERS, *TERASORT_HOSTS)
BUCKET = "clusterbench"
DATABASE = "bench"
HISTORY = "history"
"""Database and role, on the metadata server."""
DEFAULT_BLOCK = 1
_LAST_BYTE = {"metadata": 10, "client": 11, "etl": 12, "s3": 13, "db1": 21, "db2": 22, "master": 30}
_LAST_BYTE |= {worker: 30 + number for number, worker in enumerate(WORKERS, 1)}
_LAST_BYTE |= {vm: 40 + number for number, vm in enumerate((*VMS, NATIVE, VM64), 1)}
_LAST_BYTE |= {host: 50 + number for number, host in enumerate(RETAIL_HOSTS, 1)}
GUESTS = tuple(f"guest{number}" for number in range(1, 61))
"""What machines of the vCenter are, when they are on."""
_LAST_BYTE |= {"vcenter": 14} | {guest: 100 + number for number, guest in enumerate(GUESTS, 1)}
_LAST_BYTE |= {host: 60 + number for number, host in enumerate(TERASORT_HOSTS, 1)}
FIRST_PORT = {"ssh": 2222, "postgres": 5432, "s3": 9000, "airflow": 8080, "vcenter": 8989}


@dataclass
class Layout:
    lab_dir: Path
    block: int
    ports: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @classmethod
    def load(cls, lab_dir: Path, block: int | None) -> Layout:
        path = lab_dir / "lab.json"
        if not path.exists():
            return cls(lab_dir, _checked_block(block if block is not None else DEFAULT_BLOCK))
        try:
            kept = json.loads(path.read_text())
            return cls(lab_dir, _checked_block(kept["block"]), dict(kept["ports"]))
        except (ValueError, KeyError, TypeError) as error:
            raise LabError(
                f"{path}: not readable as the lab's own notes ({error!r}).\n"
                f"Delete that file; the servers then choose their ports anew."
            ) from error

    def save(self) -> None:
        with self._lock:
            text = json.dumps({"block": self.block, "ports": dict(sorted(self.ports.items()))}, indent=2)
            write_private(self.lab_dir / "lab.json", text + "\n", mode=0o644)

    def address(self, machine: str) -> str:
        return f"127.0.{self.block}.{_LAST_BYTE[machine]}"

    def claim_port(self, server: str, kind: str, address: str) -> int:
        """The port this server had, if it is free; else the next free one: a stranger's server is left alone."""
        first = self.ports.get(server, FIRST_PORT[kind])
        for port in range(first, first + 100):
            if is_free(address, port):
                self.ports[server] = port
                self.save()
                return port
        raise LabError(
            f"{address}: no free port for {server} from {first} to {first + 99}.\n"
            f"See who has them with: ss -ltnp; or choose other addresses for the lab: "
            f"clusterbench lab up --block N, which uses 127.0.N.x."
        )

    def port(self, server: str) -> int:
        """0 before the server was first started."""
        return self.ports.get(server, 0)

    def host_dir(self, host: str) -> Path:
        return self.lab_dir / "hosts" / host

    @property
    def records_dir(self) -> Path:
        return self.lab_dir / "run"

    @property
    def airflow_dir(self) -> Path:
        return self.lab_dir / "airflow"

    @property
    def client_key(self) -> Path:
        return self.lab_dir / "client_key"

    @property
    def connections_file(self) -> Path:
        return self.lab_dir / "connections.json"


def is_free(address: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True


def answers(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=1.0).close()
    except OSError:
        return False
    return True


def _checked_block(block: int) -> int:
    if not isinstance(block, int) or not 1 <= block <= 255:
        raise LabError(f"lab: block {block!r}; allowed is 1 to 255 (the lab then uses 127.0.N.x).")
    return block
