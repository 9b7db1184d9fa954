"""The lab's file of passwords, also that of a lab which was made before it had all of them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from clusterbench.base.errors import LabError
from clusterbench_lab.credentials import AIRFLOW_USERS, Credentials


def test_each_user_of_airflow_has_a_password_of_its_own_in_a_private_file(tmp_path: Path) -> None:
    file = tmp_path / "credentials.json"
    passwords = Credentials.load_or_make(file).airflow_passwords
    assert set(passwords) == {"admin", "op", "user", "viewer"} and len(set(passwords.values())) == 4
    assert file.stat().st_mode & 0o777 == 0o600
    assert Credentials.load_or_make(file).airflow_passwords == passwords


def test_an_older_lab_gets_the_users_it_lacks_and_keeps_what_it_has(tmp_path: Path) -> None:
    file = tmp_path / "credentials.json"
    kept = asdict(Credentials.load_or_make(file))
    later = {f"airflow_{user}_password" for user in AIRFLOW_USERS if user != "admin"} | {"history_password"}
    older = {name: value for name, value in kept.items() if name not in later}
    file.write_text(json.dumps(older))
    found = Credentials.load_or_make(file)
    assert {name: value for name, value in asdict(found).items() if name in older} == older
    assert all(len(value) > 10 for value in asdict(found).values()), "none is empty"
    assert Credentials.load_or_make(file) == found and file.stat().st_mode & 0o777 == 0o600


def test_what_servers_were_made_with_is_never_made_anew(tmp_path: Path) -> None:
    file = tmp_path / "credentials.json"
    kept = asdict(Credentials.load_or_make(file))
    del kept["db1_password"]
    file.write_text(json.dumps(kept))
    with pytest.raises(LabError, match="The databases were made with them"):
        Credentials.load_or_make(file)
