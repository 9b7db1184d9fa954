"""The list of pages at the side, from the links of ``index.md``: each of its sections is a group of pages.

A page that ``index.md`` does not link to is still on the site, in a last group.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

LINK = re.compile(r"\]\(([\w./-]+)\.md(?:#[^)\s]*)?\)")
NOT_LINKED = "Other pages"


def groups(front: str, pages: list[str]) -> dict[str, list[str]]:
    """Caption -> the pages below it, each page where the front page links to it first."""
    found: dict[str, list[str]] = {}
    left = [page for page in sorted(pages) if page != "index"]
    for section in re.split(r"^##+ ", front, flags=re.MULTILINE)[1:]:
        caption = section.partition("\n")[0].replace("*", "").strip()
        for page in LINK.findall(section):
            if page in left:
                left.remove(page)
                found.setdefault(caption, []).append(page)
    if left:
        found[NOT_LINKED] = left
    return found


def toctree(caption: str, pages: list[str]) -> str:
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def add_list(app: Sphinx, page: str, source: list[str]) -> None:
    if page == app.config.root_doc and "{toctree}" not in source[0]:
        found = groups(source[0], sorted(app.project.docnames))
        source[0] += "".join(toctree(caption, pages) for caption, pages in found.items())


def read_front_again(app: Sphinx, *_: object) -> list[str]:
    """Its list depends on which pages there are, not on its own text alone."""
    return [app.config.root_doc] if Path(app.srcdir, f"{app.config.root_doc}.md").exists() else []


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", add_list)
    app.connect("env-get-outdated", read_front_again)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
