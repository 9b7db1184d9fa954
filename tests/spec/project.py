"""A whole small project of the valid fixtures, into which a test puts one file that is wrong."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from clusterbench.spec.catalog import Catalog
from tests import FIXTURES

FOLDERS = {"experiments": "dags", "platforms": "include", "published": "include"}


def valid_project(root: Path) -> Catalog:
    for kind, parent in FOLDERS.items():
        shutil.copytree(FIXTURES / "valid" / kind, root / parent / kind)
    return Catalog(root)


def with_file(root: Path, source: Path) -> Path:
    """``source`` in its place in the project; a published file gets the experiment that names it."""
    kind = source.parent.name
    place = root / FOLDERS[kind] / kind / source.name
    shutil.copy(source, place)
    if kind == "published":
        experiment = root / "dags/experiments/every_key.yaml"
        text = re.sub("^published: .*$", f"published: {source.stem}", experiment.read_text(), flags=re.MULTILINE)
        experiment.write_text(text)
    return place


def expected(source: Path) -> list[str]:
    """The messages that the comments at the top of a file announce, each behind the file's path.

    Three dots stand for a list of what is allowed that grows with the program.
    """
    lines = source.read_bytes().decode("latin-1").splitlines()
    return [line.removeprefix("# expect: ") for line in lines if line.startswith("# expect: ")]
