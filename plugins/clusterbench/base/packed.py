"""Many files as one object: a tar of a folder, because a run of 64 hosts would have 200,000 objects otherwise."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path


def pack(folder: Path) -> Path | None:
    """``<folder>.tar`` in place of the folder, whose parts are removed as they are packed: room is needed once.

    The same files give the same bytes. None where there is no folder or nothing in it.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
    if not files:
        return None
    packed = folder.with_suffix(".tar")
    with tarfile.open(packed, "w") as tar:
        for path in files:
            entry = tarfile.TarInfo(str(path.relative_to(folder.parent)))
            entry.size = path.stat().st_size
            with path.open("rb") as content:
                tar.addfile(entry, content)
            path.unlink()
    shutil.rmtree(folder)
    return packed
