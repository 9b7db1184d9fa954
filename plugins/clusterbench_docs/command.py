"""``python -m clusterbench_docs [--check]``: write every made block of every page, or name the pages that are old."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from clusterbench.base.paths import within
from clusterbench_docs.blocks import Kinds, PageError, rewritten

ROOT = Path(__file__).resolve().parents[2]
"""The clone's folder: the pages are part of a clone only, never of an installed package."""
NOT_KINDS = ("__main__", "command", "blocks")


def kinds() -> Kinds:
    """Every kind of block, from all modules of this package that have ``KINDS``."""
    found: Kinds = {}
    package = Path(__file__).parent
    for module in pkgutil.iter_modules([str(package)]):
        if module.name not in NOT_KINDS:
            found |= getattr(importlib.import_module(f"clusterbench_docs.{module.name}"), "KINDS", {})
    return found


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def changed(known: Kinds) -> Iterator[tuple[Path, str]]:
    """Each page whose made blocks are not up to date, with the text that it should have."""
    with within(ROOT):  # not of somebody's own project
        for page in pages():
            text = page.read_text(encoding="utf-8")
            try:
                new = rewritten(text, known)
            except PageError as error:
                raise PageError(f"{page.relative_to(ROOT)}{error}") from error
            if new != text:
                yield page, new


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m clusterbench_docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if a page is not up to date")
    check: bool = parser.parse_args(arguments).check
    try:
        found = list(changed(kinds()))
    except PageError as error:
        print(error, file=sys.stderr)
        return 2
    for page, text in found:
        print(f"{page.relative_to(ROOT)}: {'is not up to date' if check else 'written'}")
        if not check:
            page.write_text(text, encoding="utf-8")
    if check and found:
        print("Run: PYTHONPATH=plugins .venv/bin/python -m clusterbench_docs", file=sys.stderr)
    return 1 if check and found else 0
