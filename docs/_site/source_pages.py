"""Files of the project that the pages link to, as pages of the site: ``../dags/benchmarks.py`` opens as readable text.

Sphinx offers such files as downloads, and has no links to folders. A page made here shows a file's text in colours, and
a Markdown file as it looks; the page of a folder lists what is in it. They are not part of the search.
"""

from __future__ import annotations

import ast
import html
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from markdown_it import MarkdownIt
from mdit_py_plugins.anchors import anchors_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "source"
HIDDEN = ("__pycache__",)


def page_of(path: Path) -> str:
    """The name of the page of a file or folder."""
    relative = path.relative_to(ROOT)
    return f"{FOLDER}/{relative / 'index' if path.is_dir() else relative}"


def point_to_pages(app: Sphinx, doctree: nodes.document) -> None:
    """Links to files and folders outside of docs/ lead to their pages, which are noted to be made."""
    page = app.env.docname
    linked: dict[str, set[Path]] = app.env.__dict__.setdefault("linked_sources", {})
    linked[page] = set()
    for node in [*doctree.findall(addnodes.download_reference), *doctree.findall(addnodes.pending_xref)]:
        path, anchor = linked_file(app, node)
        if path is None or not path.exists() or not path.is_relative_to(ROOT):
            continue
        linked[page].add(path)
        uri = app.builder.get_relative_uri(page, page_of(path)) + (f"#{anchor}" if anchor else "")
        node.replace_self(nodes.reference("", "", *node.children, internal=True, refuri=uri))


def linked_file(app: Sphinx, node: nodes.Element) -> tuple[Path | None, str]:
    """None where it is a page of the site. Of Markdown, MyST has resolved the path and taken the suffix off."""
    target, _, anchor = str(node["reftarget"]).partition("#")
    if node.get("refdomain") == "doc":
        is_page = target in app.env.found_docs
        return (None if is_page else Path(f"{target}.md")), str(node.get("reftargetid") or "")
    return ((Path(app.srcdir, app.env.docname).parent / target).resolve() if target else None), anchor


def forget(app: Sphinx, env: Any, page: str) -> None:  # noqa: ARG001  how Sphinx calls it
    env.__dict__.setdefault("linked_sources", {}).pop(page, None)


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Of every linked file, of every linked folder, and of the files directly in such a folder."""
    linked = {path for paths in app.env.__dict__.get("linked_sources", {}).values() for path in paths}
    inside = {path for folder in linked if folder.is_dir() for path in listed(folder) if path.is_file()}
    made = sorted(linked | inside)
    for path in made:
        name = page_of(path)
        body = folder_text(path, set(made)) if path.is_dir() else file_text(app, path, set(made))
        title = str(path.relative_to(ROOT))
        # the body of a README has its own heading
        heading = "" if path.suffix == ".md" else f"<h1>{html.escape(title)}</h1>"
        yield name, {"title": title, "body": heading + body}, "page.html"


def listed(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name not in HIDDEN and not path.name.startswith("."))


def folder_text(folder: Path, made: set[Path]) -> str:
    """What is in it, with links to the pages there are, and with the first line of what a module says of itself."""
    rows = []
    for path in listed(folder):
        name = html.escape(path.name + ("/" if path.is_dir() else ""))
        if path in made:
            name = (
                f'<a href="{path.name}/index.html">{name}</a>'
                if path.is_dir()
                else f'<a href="{path.name}.html">{name}</a>'
            )
        rows.append(f"<tr><td><code>{name}</code></td><td>{html.escape(first_line(path))}</td></tr>")
    return f'<div class="table-wrapper"><table class="docutils">{"".join(rows)}</table></div>'


def first_line(path: Path) -> str:
    module = path / "__init__.py" if path.is_dir() else path
    if module.suffix != ".py" or not module.exists():
        return ""
    return (ast.get_docstring(ast.parse(module.read_text())) or "").partition("\n")[0].replace("``", "")


def file_text(app: Sphinx, path: Path, made: set[Path]) -> str:
    text = path.read_text(errors="replace")
    if path.suffix == ".md":
        return markdown(app, path, text, made)
    try:
        lexer = get_lexer_for_filename(path.name.removesuffix(".j2"))
    except ClassNotFound:
        lexer = TextLexer()
    return f'<div class="highlight">{highlight(text, lexer, HtmlFormatter(nowrap=False))}</div>'


def markdown(app: Sphinx, path: Path, text: str, made: set[Path]) -> str:
    """As it looks on a Git host. Its links to pages of the site lead there; what has no page is no link."""
    body = str(MarkdownIt("commonmark").enable("table").use(anchors_plugin, max_level=4).render(text))

    def to_site(found: re.Match[str]) -> str:
        target, _, anchor = found[2].partition("#")
        if not target or re.match(r"\w+:", target):
            return found[0]
        place = (path.parent / target).resolve()
        if found[1] == "src":
            return f'src="{relative(app, path, copied(app, place))}"'
        if place.is_relative_to(app.srcdir) and place.suffix == ".md":
            page = str(place.relative_to(app.srcdir).with_suffix(""))
        elif place in made:
            page = page_of(place)
        else:
            return f'title="{html.escape(target)}"'
        return f'href="{relative(app, path, f"{page}.html")}{"#" if anchor else ""}{anchor}"'

    return re.sub(r'\b(href|src)="([^"]*)"', to_site, body)


def copied(app: Sphinx, picture: Path) -> str:
    """Where it is on the site."""
    place = Path("_images", picture.name)
    Path(app.outdir, place).parent.mkdir(exist_ok=True)
    shutil.copyfile(picture, Path(app.outdir, place))
    return str(place)


def relative(app: Sphinx, path: Path, place: str) -> str:
    """The way from a file's page to a place of the site."""
    return os.path.relpath(Path(app.outdir, place), Path(app.outdir, page_of(path)).parent)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", point_to_pages, priority=100)  # before Sphinx notes what is to be downloaded
    app.connect("env-purge-doc", forget)
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
