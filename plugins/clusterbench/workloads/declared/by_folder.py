"""From a folder to its workload, of either kind; and what is wrong with any of them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import cast

from clusterbench.base.errors import SpecError
from clusterbench.spec.by_name import workload_folders
from clusterbench.workloads import Workload
from clusterbench.workloads.declared.folder import Folder, read
from clusterbench.workloads.declared.problems import check, check_names
from clusterbench.workloads.declared.together import TogetherWorkload
from clusterbench.workloads.declared.workload import DeclaredWorkload


def of(path: Path) -> Workload:
    """The workload of a ``workload.yaml``: one object, as long as its text stays.

    Raises SpecError with every problem of the file.
    """
    return _of(read(path))


@lru_cache(maxsize=100)
def _of(folder: Folder) -> Workload:
    check_names(folder)
    kind = TogetherWorkload if folder.said.driven_by == "together" else DeclaredWorkload
    return cast(Workload, kind(folder))


def problems() -> list[str]:
    """Of every folder and of the files in it; empty when all is well."""
    found: list[str] = []
    for path in workload_folders().values():
        try:
            check(read(path))
        except SpecError as error:
            found += error.problems
    return found
