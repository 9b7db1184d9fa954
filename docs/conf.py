"""The pages of this folder as a site: ``make docs`` builds it into ``build/docs``.

The pages are plain Markdown, and read as well on a Git host. What a site needs beside them is made here and in
``_site/``: the list of pages from the links of ``index.md``, and pages for the files that the text links to.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pygments.lexers import PostgresLexer
from pygments.token import Name

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_site"))

_package = (HERE.parent / "plugins" / "clusterbench" / "__init__.py").read_text()
_version = re.search(r'^__version__ = "(.+?)"', _package, re.MULTILINE)

project = "clusterbench"
release = version = _version[1] if _version else ""
extensions = ["myst_parser", "page_list", "source_pages"]
exclude_patterns = ["_*"]
root_doc = "index"
highlight_language = "text"  # of code blocks that name none: what a terminal shows

# As Git hosts name the anchors of headings.
myst_heading_anchors = 6

html_theme = "furo"
html_title = f"clusterbench {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_use_index = False  # there is nothing in it; the search finds words
html_show_copyright = False
# Excerpts beside what the search finds would be fetched, which browsers refuse to pages of the file system.
html_show_search_summary = False


class OurSql(PostgresLexer):
    """PostgreSQL's, with the placeholders of declared workloads: ``$key``."""

    tokens = {**PostgresLexer.tokens, "root": [(r"\$\w+\b(?!\$)", Name.Variable), *PostgresLexer.tokens["root"]]}


def setup(app: Sphinx) -> None:
    app.add_lexer("sql", OurSql)
