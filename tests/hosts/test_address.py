"""An SSH connection is read as apache-airflow-providers-ssh reads it, and what is wrong with it is said."""

from __future__ import annotations

import json
from typing import Any

import asyncssh
import pytest
from airflow.providers.ssh.hooks.ssh import SSHHook, SSHHookAsync

from clusterbench.base.connections import Connection, from_parts
from clusterbench.base.errors import HostError
from clusterbench.hosts.address import Address
from clusterbench.hosts.ssh import _proxy

RSA = asyncssh.generate_private_key("ssh-rsa", key_size=2048)
HOST_KEY = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode().strip()
KEY = asyncssh.generate_private_key("ssh-ed25519")
ENCRYPTED = RSA.export_private_key("openssh", passphrase="two words").decode()
PARTS = {"conn_type": "ssh", "host": "sdw1.example", "port": 2222, "login": "gpadmin"}


def address(connection: dict[str, Any], **others: dict[str, Any]) -> Address:
    known = {name: from_parts(name, parts) for name, parts in {"host_1": connection, **others}.items()}
    return Address.of("sdw1", known["host_1"], known.__getitem__)


def refused(connection: dict[str, Any], **others: dict[str, Any]) -> str:
    with pytest.raises(HostError) as caught:
        address(connection, **others)
    return str(caught.value)


@pytest.mark.parametrize(
    "connection",
    [
        {**PARTS, "extra": {"key_file": "/keys/id", "host_key": HOST_KEY}},
        {**PARTS, "extra": {"private_key": RSA.export_private_key().decode(), "host_key": HOST_KEY}},
        {**PARTS, "extra": {"private_key": ENCRYPTED, "private_key_passphrase": "two words", "host_key": HOST_KEY}},
        {
            **PARTS,
            "password": "s3cr:et",
            "extra": {"host_key": HOST_KEY, "conn_timeout": 25, "ciphers": ["aes256-ctr"]},
        },
        {**PARTS, "port": None, "extra": {"no_host_key_check": "true"}},
        {**PARTS, "login": "", "extra": {"no_host_key_check": True}},
        {**PARTS, "extra": {"host_key": RSA.export_public_key().decode().split()[1]}},
    ],
    ids=["file", "key", "encrypted", "password", "unchecked", "nobody", "rsa without its type"],
)
def test_connection_means_what_the_provider_says(connection: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_HOST_1", json.dumps(connection))
    hook = SSHHook(ssh_conn_id="host_1")
    found = address(connection)
    assert (found.host, found.port, found.login) == (hook.remote_host, hook.port, hook.username)
    assert (found.key_file, found.password) == (hook.key_file or "", hook.password or "")
    assert found.connect_timeout_s == (hook.conn_timeout or 10)
    assert list(found.ciphers) == (hook.ciphers or [])
    assert (found.host_key == "" and found.known_hosts == "") == hook.no_host_key_check
    if hook.host_key is not None:
        assert found.host_key == f"{hook.host_key.get_name()} {hook.host_key.get_base64()}"
    if hook.pkey is not None:
        ours = asyncssh.import_private_key(found.private_key, found.passphrase or None)
        assert ours.public_data == hook.pkey.asbytes()


def test_passphrase_may_have_the_name_that_the_providers_asynchronous_hook_knows() -> None:
    extra = {"private_key": ENCRYPTED, "passphrase": "two words", "host_key": HOST_KEY, "known_hosts": "/etc/known"}
    hook = SSHHookAsync(ssh_conn_id="host_1")
    hook._parse_extras(type("Found", (), {"extra_dejson": extra, "host": "sdw1.example"}))
    found = address({**PARTS, "extra": extra})
    assert (found.passphrase, found.private_key) == (hook.passphrase, hook.private_key)


def test_host_without_a_pinned_key_is_looked_up_in_the_named_file(tmp_path: Any) -> None:
    file = tmp_path / "known"
    message = refused({**PARTS, "extra": {"known_hosts": str(file)}})
    assert message == (
        f"host 'sdw1': connection 'host_1' has no 'host_key' in its extra, and there is no {file} here; put the host's "
        "public key there, as ssh-keyscan prints it, to pin it"
    )
    file.write_text("")
    assert address({**PARTS, "extra": {"known_hosts": str(file)}}).known_hosts == str(file)


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({"key_file": "/k", "private_key": "k"}, "has both 'key_file' and 'private_key' in its extra; leave one of"),
        ({"no_host_key_check": True}, "has both 'host_key' and 'no_host_key_check'; remove one of them"),
        ({"key_file": 7}, "has 'key_file' in its extra, which must be text: found int"),
        ({"conn_timeout": "soon"}, "has 'conn_timeout' in its extra, which must be seconds, more than 0; found 'soon'"),
        ({"conn_timeout": 0}, "must be seconds, more than 0; found 0"),
        ({"ciphers": "aes256-ctr"}, "has 'ciphers' in its extra, which must be a list of names"),
        ({"jump_host": "host_1"}, "is reached through itself: host_1 -> host_1; correct 'jump_host'"),
        (
            {"jump_host": "gate", "host_proxy_cmd": "nc %h %p"},
            "has both 'host_proxy_cmd' and 'jump_host' in its extra; leave one of them out",
        ),
    ],
)
def test_what_cannot_be_meant_is_said(extra: dict[str, Any], said: str) -> None:
    gate = {**PARTS, "host": "gate", "extra": {"host_key": HOST_KEY}}
    message = refused({**PARTS, "extra": {"host_key": HOST_KEY, **extra}}, gate=gate)
    assert message.startswith("host 'sdw1': connection 'host_1' ") and said in message


def test_connection_without_an_address_is_named() -> None:
    assert refused({"extra": {}}) == "host 'sdw1': connection 'host_1' has no host; add its address in Airflow"


def test_bastions_may_stand_one_behind_another_but_not_in_a_circle() -> None:
    outer = {**PARTS, "host": "outer", "extra": {"host_key": HOST_KEY}}
    inner = {**PARTS, "host": "inner", "extra": {"host_key": HOST_KEY, "jump_host": "outer"}}
    found = address({**PARTS, "extra": {"host_key": HOST_KEY, "jump_host": "inner"}}, inner=inner, outer=outer)
    assert found.jump and found.jump.jump and found.jump.jump.host == "outer"
    assert str(found) == "sdw1 (gpadmin@sdw1.example:2222 through inner)"
    outer["extra"]["jump_host"] = "inner"
    message = refused({**PARTS, "extra": {"host_key": HOST_KEY, "jump_host": "inner"}}, inner=inner, outer=outer)
    assert "connection 'outer' is reached through itself: host_1 -> inner -> outer -> inner; correct" in message


def test_proxy_command_has_the_place_filled_in() -> None:
    extra = {"host_key": HOST_KEY, "host_proxy_cmd": "nc -X connect -x proxy:3128 %h %p # %r 100%%"}
    found = address({**PARTS, "extra": extra})
    assert found.is_behind_another
    assert _proxy(found) == "nc -X connect -x proxy:3128 sdw1.example 2222 # gpadmin 100%"


def test_nothing_secret_is_shown() -> None:
    connection = Connection("host_1", "h", 22, "l", "pa55", "", {"private_key": "k3y", "host_key": HOST_KEY})
    shown = repr(Address.of("sdw1", connection, {}.__getitem__))
    assert "pa55" not in shown and "k3y" not in shown
