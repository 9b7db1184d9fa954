"""The ordinary user the servers run as, and files that belong to it.

PostgreSQL refuses to run as root. A lab brought up by root therefore makes a user of its own for sshd,
PostgreSQL and S3; Airflow stays root, so that it can read the project wherever it lies. Anybody else's lab
runs as them.
"""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clusterbench.base.errors import LabError

LAB_USER = "clusterbench"


@dataclass(frozen=True)
class Account:
    name: str
    user_id: int
    group_id: int
    home: Path

    @property
    def is_someone_else(self) -> bool:
        return self.user_id != os.geteuid()

    def environment(self) -> dict[str, str]:
        """A clean environment: nothing of the shell that ran `up` reaches a server or a job."""
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": str(self.home),
            "USER": self.name,
            "LOGNAME": self.name,
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
        }

    def run(
        self, command: list[str], *, timeout_seconds: float = 120.0, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a short command as this user; the caller judges its exit code."""
        switch = switch_user(self)
        return subprocess.run(  # type: ignore[call-overload,no-any-return]
            command,
            env=self.environment(),
            cwd=cwd or "/",
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            stdin=subprocess.DEVNULL,
            check=False,
            start_new_session=True,
            umask=0o077,
            **switch,
        )

    def make_directory(self, path: Path, mode: int = 0o700) -> None:
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(mode)
        self._give(path)

    def write(self, path: Path, text: str, mode: int = 0o600) -> None:
        """Replace a file in one step, never readable by others in between."""
        write_private(path, text, mode, owner=self)

    def _give(self, path: Path) -> None:
        if self.is_someone_else:
            os.chown(path, self.user_id, self.group_id)


def switch_user(account: Account) -> Mapping[str, object]:
    """Arguments that make `subprocess` run a program as this account."""
    if not account.is_someone_else:
        return {}
    return {"user": account.user_id, "group": account.group_id, "extra_groups": []}


def write_private(path: Path, text: str, mode: int = 0o600, owner: Account | None = None) -> None:
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w") as file:
        os.fchmod(file.fileno(), mode)
        if owner is not None and owner.is_someone_else:
            os.fchown(file.fileno(), owner.user_id, owner.group_id)
        file.write(text)
    new.replace(path)


def myself() -> Account:
    return _account(pwd.getpwuid(os.geteuid()))


def server_account() -> Account:
    """Who runs sshd, PostgreSQL and S3: the caller or, when that is root, the lab's own user."""
    if os.geteuid() != 0:
        return myself()
    try:
        return _account(pwd.getpwnam(LAB_USER))
    except KeyError:
        _make_user()
    return _account(pwd.getpwnam(LAB_USER))


def require_reachable(account: Account, folder: Path) -> None:
    """Say which folder on the way keeps the lab's user out, rather than let six servers fail on it."""
    if not account.is_someone_else:
        return
    for step in [*reversed(folder.parents), folder]:
        if account.run(["test", "-x", str(step)]).returncode != 0:
            raise LabError(
                f"{folder}: the lab's servers run as the user {account.name!r} (PostgreSQL refuses root), "
                f"and {step} (mode {step.stat().st_mode & 0o777:o}) does not let that user through.\n"
                f"Either clone the project elsewhere, or set CLUSTERBENCH_LAB_DIR to a folder below one that "
                f"everybody may enter (for instance /srv/clusterbench-lab), or run: chmod o+x {step}"
            )


def _account(entry: pwd.struct_passwd) -> Account:
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, Path(entry.pw_dir))


def _make_user() -> None:
    command = ["useradd", "--system", "--create-home", "--shell", "/bin/bash", LAB_USER]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # Somebody else's `up` may have been quicker (exit code 9: the name is taken).
    if done.returncode not in (0, 9):
        raise LabError(
            f"The lab needs an ordinary user {LAB_USER!r}, because PostgreSQL refuses to run as root.\n"
            f"{' '.join(command)} failed: {done.stderr.strip()}\n"
            f"Make that user, or run the lab as an ordinary user."
        )
