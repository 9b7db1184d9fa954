"""What the tests of the pages inside Airflow's UI share: made-up results to look at, a login, the links of a page."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import unescape
from typing import Any

from clusterbench.base.connections import Connection, from_file
from clusterbench.history import database
from clusterbench_lab import Lab


def made_up_history(lab: Lab, name: str) -> Connection:
    """A database of that name on the lab's metadata server."""
    connections = from_file(lab.lab_dir / "connections.json")
    lab.parts.metadata.make_database_of(name, "of-the-tests")
    known = connections(database.CONNECTION_ID)
    return dataclasses.replace(known, login=name, password="of-the-tests", schema=name)


@contextmanager
def shown_history(lab: Lab, own: Connection) -> Iterator[None]:
    """The lab's connection leads to that database meanwhile."""
    file = lab.layout.connections_file
    kept = file.read_text()
    changed = json.loads(kept)
    changed[database.CONNECTION_ID] |= {"login": own.login, "password": own.password, "schema": own.schema}
    file.write_text(json.dumps(changed))
    try:
        yield
    finally:
        file.write_text(kept)


def log_in(context: Any, address: str, user: str, password: str) -> None:
    """Through Airflow's own form, to which the page at that address sends whoever has no login, and back."""
    page = context.new_page()
    page.goto(address)
    page.wait_for_url("**/auth/login**")
    page.fill("input[name=username]", user)
    page.fill("input[name=password]", password)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: url.partition("?")[0].endswith(address))
    page.close()


def walk(todo: list[str], get: Callable[[str], tuple[int, str, str]]) -> tuple[dict[str, int], set[tuple[str, int]]]:
    """Follows every link of ours, three of each kind: address -> status, and the kinds there are.

    ``todo`` are the pages to begin with; ``get`` has an address's status, content type and text.
    """
    seen: dict[str, int] = {}
    kinds: Counter[tuple[str, int]] = Counter()
    for address in (todo := list(todo)):
        seen[address], content, text = get(address)
        for link in links(text, "/bench") if "html" in content else ():
            path = link.partition("#")[0]
            kind = (path.partition("?")[0].split("/")[2], path.count("/"))
            if path not in todo and kinds[kind] < 3:
                kinds[kind] += 1
                todo.append(path)
    return seen, set(kinds)


def links(page: str, beginning: str) -> list[str]:
    return [unescape(link) for link in re.findall(r'(?:href|src)="([^"]+)"', page) if link.startswith(beginning)]
