"""A Hadoop with Kerberos and TLS in a lab, started by clusterbench; and a platform on which it is somebody else's."""

from __future__ import annotations

import json
import platform
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from clusterbench.base.connections import Connections, from_file
from clusterbench_lab import Lab, maven
from clusterbench_lab.layout import PROJECT_DIR
from tests.integration.kdc import REALM, Kdc, Stores, kdc, stores

OURS, THEIRS = "ours_secure", "theirs"
"""The platform that starts the Hadoop, and the one that only has a client host of it."""
PRINCIPAL = f"bench@{REALM}"
LIBHADOOP = Path(__file__).parent / "libhadoop"


@dataclass(frozen=True)
class SecureHadoop:
    project: Path
    """With both platforms' files."""
    kdc: Kdc
    connections: Connections
    home: Path
    stores: Stores
    base: dict[str, Any]
    """The file of the platform that starts it."""

    def declare(self, name: str, **changes: Any) -> None:
        """A platform's file, as that of ``base`` but for what is changed."""
        path = self.project / "include/platforms" / f"{name}.yaml"
        path.write_text(yaml.safe_dump(self.base | {"platform": name} | changes, sort_keys=False))

    def declare_managed(self, configuration: str, name: str = THEIRS, **managed: Any) -> None:
        options = f"{self.base['hadoop']['java_options']} -Djava.security.krb5.conf={self.kdc.krb5_conf}"
        hadoop = {
            "slots": 1,
            "home": str(self.home),
            "daemon_heap_mb": 256,
            "java_options": options,
            "web_ca": str(self.stores.certificate),
            "kerberos": {"connection": "bench_kerberos", "krb5_conf": str(self.kdc.krb5_conf)},
            "managed": {"configuration": configuration, "path": "/user/bench", "queue": "default"} | managed,
        }
        self.declare(
            name,
            cluster=name,
            may=[],
            hosts={"client": {"ssh": "lab_etl", "roles": ["client"]}},
            hadoop=hadoop,
            settings={"dfs.blocksize": "268435456", "hadoop.security.authentication": "kerberos"},
        )


@contextmanager
def secure_hadoop(lab: Lab, folder: Path, address: str) -> Iterator[SecureHadoop]:
    """Declared, and its KDC running; it is for a run to set it up. ``folder`` may be entered by everybody."""
    known = json.loads((lab.lab_dir / "connections.json").read_text())
    addresses = sorted({each["host"] for each in known.values() if each["conn_type"] == "ssh"})
    home, project = _home(lab, folder), folder / "project"
    (project / "include/platforms").mkdir(parents=True)
    (project / "clusterbench.yaml").write_text("project: secure\n")
    made = stores(folder, addresses)
    base = yaml.safe_load((PROJECT_DIR / "include/platforms/lab_hadoop1.yaml").read_text())
    with kdc(folder, address) as server:
        of_daemons = server.keytab("hadoop", [f"{user}/{a}@{REALM}" for a in addresses for user in ("hadoop", "HTTP")])
        services = {
            "realm": REALM,
            "keytab": str(of_daemons),
            "keystore": str(made.keystore),
            "truststore": str(made.truststore),
        }
        kerberos = {"connection": "bench_kerberos", "krb5_conf": str(server.krb5_conf), "services": services}
        base["hadoop"] |= {"home": str(home), "web_ca": str(made.certificate), "kerberos": kerberos}
        keytab = {"keytab": server.keytab_text("bench", PRINCIPAL), "store_password": made.password}
        known["bench_kerberos"] = {"conn_type": "generic", "login": PRINCIPAL, "extra": keytab}
        file = folder / "connections.json"
        file.touch(mode=0o600)
        file.write_text(json.dumps(known))
        hadoop = SecureHadoop(project, server, from_file(file), home, made, base)
        hadoop.declare(OURS)
        yield hadoop


def _home(lab: Lab, folder: Path) -> Path:
    """The lab's jars, and libhadoop, without which no map output is fetched where Kerberos is on."""
    home, fetched = folder / "hadoop", folder / "fetched"
    (home / "lib/native").mkdir(parents=True)
    for jar in (lab.lab_dir / "hadoop/lib").glob("*.jar"):
        (home / "lib" / jar.name).symlink_to(jar)
    maven.install("libhadoop", LIBHADOOP / "pom.xml", fetched, LIBHADOOP / "jars.sha256")
    machine = {"x86_64": "amd64"}.get(platform.machine(), platform.machine())
    with zipfile.ZipFile(next(fetched.glob("*.jar"))) as jar:
        (home / "lib/native/libhadoop.so").write_bytes(jar.read(f"nativelib/Linux-{machine}/libhadoop.so"))
    return home
