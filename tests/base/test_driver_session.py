"""What psql says of a session, of every version."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterbench.base.driver_session import read, session

PLAIN = 'You are connected to database "b" as user "u" on host "db" (address "10.0.0.1") at port "5432".\n'
TLS = "SSL connection (protocol: TLSv1.3, cipher: TLS_AES_256_GCM_SHA384, compression: off)\n"
TLS_16 = "SSL connection (protocol: TLSv1.2, cipher: ECDHE-RSA-AES256-GCM-SHA384, compression: off, ALPN: none)\n"
TABLE = """\
                Connection Information
      Parameter       |         Value
----------------------+------------------------
 Database             | b
 SSL Connection       | true
 SSL Library          | OpenSSL
 SSL Protocol         | TLSv1.3
 SSL Cipher           | TLS_AES_256_GCM_SHA384
"""


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (PLAIN, {"tls": "none"}),
        (PLAIN + TLS, {"tls": "TLSv1.3", "cipher": "TLS_AES_256_GCM_SHA384"}),
        (PLAIN + TLS_16, {"tls": "TLSv1.2", "cipher": "ECDHE-RSA-AES256-GCM-SHA384"}),
        (TABLE, {"tls": "TLSv1.3", "cipher": "TLS_AES_256_GCM_SHA384"}),
        (" Database | b\n SSL Connection | false\n", {"tls": "none"}),
        ("", {"tls": "unknown"}),
    ],
)
def test_whether_it_was_encrypted(said: str, found: dict[str, str]) -> None:
    assert read(said) == found


def test_of_a_driver_s_output(tmp_path: Path) -> None:
    assert session(tmp_path) == {"tls": "unknown"}
    (tmp_path / "session.txt").write_text(PLAIN)
    assert session(tmp_path) == {"tls": "none"}
