"""A scheduler that has clusterbench imported: its tasks see what is edited meanwhile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FORKED = """\
import os, sys, time
from pathlib import Path
from clusterbench_lab import airflow_preloaded as preloaded
import clusterbench.base.words
folder = Path(sys.argv[1])
preloaded.WATCHED = (folder,)
imported = preloaded.edited()
os.register_at_fork(after_in_child=lambda: preloaded.forget_if_edited(imported))
def child():
    if (pid := os.fork()) == 0:
        print("clusterbench.base.words" in sys.modules, "clusterbench_lab.airflow_preloaded" in sys.modules, flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
child()
time.sleep(0.02)
{edit}
child()
"""


def children(folder: Path, edit: str) -> list[str]:
    (folder / "rooms").mkdir(parents=True)
    (folder / "rooms" / "module.py").write_text("x = 1\n")
    done = subprocess.run(
        [sys.executable, "-c", FORKED.format(edit=edit), str(folder)], check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()


def test_the_next_task_has_what_was_imported_unless_something_was_edited(tmp_path: Path) -> None:
    kept, forgotten = "True True", "False True"
    assert children(tmp_path / "a", "pass") == [kept, kept]
    assert children(tmp_path / "b", "(folder / 'rooms' / 'module.py').write_text('x = 2')") == [kept, forgotten]
    assert children(tmp_path / "c", "(folder / 'rooms' / 'new.sh').write_text('true')") == [kept, forgotten]
    assert children(tmp_path / "d", "(folder / 'rooms' / 'module.pyc').write_text('')") == [kept, kept]
