"""The field and its archive as fixtures: one for the tests of a module."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from clusterbench.base.connections import Connections
from clusterbench.base.paths import project_root
from clusterbench_lab.s3 import S3Server
from tests import BLOCK
from tests.field import storage, systemd
from tests.field.world import Field, field

MISSING = systemd.missing() if os.geteuid() == 0 else "hosts in namespaces need root"
needs_field = pytest.mark.skipif(bool(MISSING), reason=MISSING)


@pytest.fixture(scope="module")
def world() -> Iterator[Field]:
    with field() as made:
        yield made


@pytest.fixture(scope="module")
def archive() -> Iterator[S3Server]:
    with storage.object_storage(BLOCK + 2) as server:
        yield server


@pytest.fixture
def connections(world: Field, archive: S3Server) -> Connections:
    return storage.archived(world.connections(), storage.connection(archive))


@pytest.fixture
def project(world: Field, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This project, in which the field is a platform like any other."""
    root, platforms = project_root(), tmp_path / "include" / "platforms"
    platforms.mkdir(parents=True)
    for name in ("dags", "expectations"):
        (tmp_path / name).symlink_to(root / name)
    for each in (root / "include").iterdir():
        if each.name != "platforms":
            (tmp_path / "include" / each.name).symlink_to(each)
    for each in (root / "include" / "platforms").iterdir():
        (platforms / each.name).symlink_to(each)
    (platforms / "field.yaml").write_text(yaml.safe_dump(world.platform, sort_keys=False))
    monkeypatch.setenv("CLUSTERBENCH_ROOT", str(tmp_path))
    return tmp_path
