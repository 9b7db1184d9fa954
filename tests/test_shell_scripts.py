"""``make lint`` has shellcheck read every shell script of the project; what a script is excused from has a reason."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from clusterbench.base.paths import project_root

ROOT = project_root()
FOLDERS = (".ci", "dags", "docs", "expectations", "include", "plugins", "tests")
SHEBANG = re.compile(rb"#!.*\b(ba|da)?sh\b")


def is_shell_script(path: Path) -> bool:
    return path.suffix == ".sh" or SHEBANG.match(path.read_bytes()[:100]) is not None


def shell_scripts() -> set[str]:
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    paths += ROOT.glob("*")
    return {str(path.relative_to(ROOT)) for path in paths if path.is_file() and is_shell_script(path)}


def checked() -> list[str]:
    """The files that ``make lint`` gives to shellcheck."""
    told = subprocess.run(["make", "-n", "lint"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in told.splitlines()]
    return [word for words in lines if words[:1] == ["shellcheck"] for word in words[1:]]


def test_make_lint_checks_every_shell_script() -> None:
    assert shell_scripts() == set(checked())


def test_a_script_says_why_it_is_excused_from_a_rule() -> None:
    without = [
        f"{name}:{number}"
        for name in sorted(shell_scripts())
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"# shellcheck (disable|source)=\S+\s*$", line)
    ]
    assert without == []
