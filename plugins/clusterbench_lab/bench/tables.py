"""Tables of Markdown, printed row by row while they are computed."""

from __future__ import annotations


def head(*words: object) -> None:
    print()
    row(*words)
    print("|" + "---|" * len(words))


def row(*words: object) -> None:
    print(f"| {' | '.join(map(str, words))} |", flush=True)
