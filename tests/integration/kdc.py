"""A KDC of MIT's on loopback, and what hosts of a lab need to be known to it: keytabs, and certificates for TLS."""

from __future__ import annotations

import base64
import os
import secrets
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

REALM = "LAB.TEST"
SBIN = "/usr/sbin"
KRB5_CONF = """\
[libdefaults]
  default_realm = {realm}
  dns_lookup_realm = false
  dns_lookup_kdc = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
  ticket_lifetime = {ticket_s}s
  renew_lifetime = 7d
[realms]
  {realm} = {{
    kdc = {address}:{port}
  }}
"""
KDC_CONF = """\
[kdcdefaults]
  kdc_listen = {address}:{port}
  kdc_tcp_listen = {address}:{port}
[realms]
  {realm} = {{
    database_name = {folder}/principals
    key_stash_file = {folder}/stash
    max_life = {ticket_s}s
    max_renewable_life = 7d
  }}
"""


@dataclass(frozen=True)
class Kdc:
    """``folder`` may be entered by everybody: hosts of a lab are users of their own."""

    folder: Path
    address: str
    port: int

    @property
    def krb5_conf(self) -> Path:
        return self.folder / "krb5.conf"

    @property
    def environment(self) -> dict[str, str]:
        files = {"KRB5_CONFIG": str(self.krb5_conf), "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf")}
        return {**os.environ, **files}

    def run(self, *command: object, said: str = "") -> str:
        words = [str(word) for word in command]
        done = subprocess.run(words, env=self.environment, input=said, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def keytab(self, name: str, principals: Iterable[str]) -> Path:
        """With the keys of these principals, who are made."""
        path = self.folder / f"{name}.keytab"
        orders = [f"addprinc -randkey {each}" for each in principals]
        orders += [f"ktadd -q -norandkey -k {path} {each}" for each in principals]
        self.run(f"{SBIN}/kadmin.local", "-r", REALM, said="\n".join(orders) + "\n")
        path.chmod(0o644)
        return path

    def keytab_text(self, name: str, principal: str) -> str:
        return base64.b64encode(self.keytab(name, [principal]).read_bytes()).decode()


@contextmanager
def kdc(folder: Path, address: str, ticket_s: int = 36_000) -> Iterator[Kdc]:
    with socket.socket() as free:
        free.bind((address, 0))
        made = Kdc(folder, address, free.getsockname()[1])
    values = {"realm": REALM, "address": address, "port": made.port, "folder": folder, "ticket_s": ticket_s}
    made.krb5_conf.write_text(KRB5_CONF.format(**values))
    (folder / "kdc.conf").write_text(KDC_CONF.format(**values))
    made.run(f"{SBIN}/kdb5_util", "create", "-s", "-r", REALM, "-P", secrets.token_hex(16))
    with (folder / "kdc.log").open("w") as log:
        server = subprocess.Popen(
            [f"{SBIN}/krb5kdc", "-n", "-r", REALM],
            env=made.environment,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
        )
    try:
        _wait_until_up(made)
        yield made
    finally:
        server.terminate()
        server.wait(30)


def _wait_until_up(made: Kdc) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection((made.address, made.port), 1).close()
            return
        except OSError:
            assert time.monotonic() < deadline, (made.folder / "kdc.log").read_text()
            time.sleep(0.1)


@dataclass(frozen=True)
class Stores:
    """One certificate for all hosts, signed by itself."""

    keystore: Path
    truststore: Path
    certificate: Path
    password: str


def stores(folder: Path, addresses: Iterable[str]) -> Stores:
    password = secrets.token_hex(12)
    made = Stores(folder / "key.p12", folder / "trust.p12", folder / "ca.pem", password)
    names = ",".join(f"ip:{address}" for address in addresses)
    key = ["-alias", "hadoop", "-storetype", "pkcs12", "-storepass", password, "-keystore", made.keystore]
    trust = ["-alias", "hadoop", "-storetype", "pkcs12", "-storepass", password, "-keystore", made.truststore]
    for words in (
        ["-genkeypair", *key, "-keyalg", "RSA", "-keysize", "2048", "-dname", "CN=hadoop", "-ext", f"SAN={names}"],
        ["-exportcert", *key, "-rfc", "-file", made.certificate],
        ["-importcert", *trust, "-noprompt", "-file", made.certificate],
    ):
        subprocess.run(["keytool", *map(str, words)], check=True, capture_output=True)
    for file in (made.keystore, made.truststore, made.certificate):
        file.chmod(0o644)
    return made
