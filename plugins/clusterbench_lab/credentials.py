"""The lab's passwords and keys: random, made once, in one file that only its owner may read."""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from clusterbench.base.errors import LabError
from clusterbench_lab.account import write_private

ADMIN = "admin"
AIRFLOW_USERS = (ADMIN, "op", "user", "viewer")
"""Of Airflow in the lab, each named as the role of SimpleAuthManager that it has."""
_LATER = (
    "history_password",
    "vcenter_password",
    *(f"airflow_{user}_password" for user in AIRFLOW_USERS if user != ADMIN),
)
"""What a lab of earlier days lacks. It is made when that lab is up again: nothing there was made with it."""


@dataclass(frozen=True)
class Credentials:
    """Letters, digits, `-` and `_` only, so that no file format or URL needs to quote them."""

    metadata_password: str
    history_password: str
    vcenter_password: str
    db1_password: str
    db2_password: str
    s3_access_key: str
    s3_secret_key: str
    airflow_admin_password: str
    airflow_op_password: str
    airflow_user_password: str
    airflow_viewer_password: str
    airflow_fernet_key: str
    airflow_jwt_secret: str
    airflow_api_secret_key: str

    @classmethod
    def load_or_make(cls, path: Path) -> Credentials:
        if not path.exists():
            made = cls._make()
            write_private(path, json.dumps(asdict(made), indent=2) + "\n")
            return made
        try:
            kept = json.loads(path.read_text())
            if missing := [name for name in _LATER if name not in kept]:
                fresh = asdict(cls._make())
                kept |= {name: fresh[name] for name in missing}
                write_private(path, json.dumps(kept, indent=2) + "\n")
            return cls(**kept)
        except (ValueError, TypeError) as error:
            raise LabError(
                f"{path}: not readable as the lab's passwords ({error}). The databases were made with them.\n"
                f"Begin anew with: clusterbench lab down; make clean; make up"
            ) from error

    @property
    def airflow_passwords(self) -> Mapping[str, str]:
        return {user: getattr(self, f"airflow_{user}_password") for user in AIRFLOW_USERS}

    @classmethod
    def _make(cls) -> Credentials:
        made = {field.name: secrets.token_urlsafe(24) for field in fields(cls)}
        made["s3_access_key"] = secrets.token_hex(10)
        made["airflow_fernet_key"] = base64.urlsafe_b64encode(os.urandom(32)).decode()
        made["airflow_jwt_secret"] = secrets.token_urlsafe(64)
        return cls(**made)
