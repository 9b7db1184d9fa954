from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from clusterbench.base import scripts
from clusterbench.base.paths import built_in_root
from clusterbench.base.scripts import script

AWKWARD = 'it\'s $HOME; `id` "x"\nnew line'


def test_values_are_variables_whatever_is_in_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "include" / "hosts").mkdir(parents=True)
    (tmp_path / "include" / "hosts" / "say.sh").write_text('printf "%s|" "$one" "$two" "${many[@]}" "${none[@]}"\n')
    monkeypatch.setenv("CLUSTERBENCH_ROOT", str(tmp_path))
    scripts._text.cache_clear()
    made = script("hosts/say", one=AWKWARD, two=2, many=["a b", AWKWARD], none=[])
    scripts._text.cache_clear()
    said = subprocess.run(["bash", "-euo", "pipefail", "-c", made], capture_output=True, text=True, check=True).stdout
    assert said == f"{AWKWARD}|2|a b|{AWKWARD}|"


def test_no_script_pipes_into_grep_that_ends_at_the_first_match() -> None:
    """What still writes then fails, and with ``pipefail`` so does the pipe: a daemon that runs was called dead."""
    scripts_of_hosts = [path for path in (built_in_root() / "include").rglob("*.sh") if path.parent.name != "compose"]
    assert len(scripts_of_hosts) > 50
    pipes = re.compile(r"(?<!\|)\|\s*grep\s+(-\w+\s+)*-\w*q")
    assert [path.name for path in scripts_of_hosts if pipes.search(path.read_text())] == []
