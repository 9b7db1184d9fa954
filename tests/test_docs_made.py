"""What stands between markers in a page is written by the code, and everything else stays."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field

from clusterbench.spec.loading import Strict
from clusterbench_docs import command, keys
from clusterbench_docs.allowed import words_for
from clusterbench_docs.blocks import PageError, rewritten, table

PAGE = """# A page

Before.

<!-- made by clusterbench_docs: shout hello -->
old
<!-- end -->

After.
"""
KINDS = {"shout": str.upper}


def test_only_what_stands_between_the_markers_is_written() -> None:
    written = rewritten(PAGE, KINDS)
    assert written == PAGE.replace("\nold\n", "\n\nHELLO\n\n")
    assert rewritten(written, KINDS) == written


def test_markers_in_a_block_of_code_are_an_example() -> None:
    page = f"````\n```\n{PAGE}````\n"
    assert rewritten(page, KINDS) == page


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (PAGE.replace("shout", "whisper"), ":5: there is no kind 'whisper' of block; there are shout"),
        (PAGE.replace("<!-- end -->", ""), ":5: has no <!-- end --> after it"),
        (PAGE.replace("<!-- end -->", PAGE), ":5: has no <!-- end --> before the next block in line 11"),
    ],
)
def test_a_marker_that_cannot_be_followed_is_an_error(page: str, problem: str) -> None:
    with pytest.raises(PageError, match="^" + problem):
        rewritten(page, KINDS)


def test_the_command_checks_and_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(PAGE)
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "kinds", lambda: KINDS)
    assert command.main(["--check"]) == 1
    assert capsys.readouterr().out == "README.md: is not up to date\n"
    assert (tmp_path / "README.md").read_text() == PAGE
    assert command.main([]) == 0
    assert command.main(["--check"]) == 0
    (tmp_path / "README.md").write_text(PAGE.replace("shout", "whisper"))
    assert command.main([]) == 2
    assert capsys.readouterr().err.startswith("README.md:5: there is no kind")


def test_bars_in_cells_are_no_ends_of_cells() -> None:
    assert table(("a", "b"), [("x|y", "z")]) == "| a | b |\n| --- | --- |\n| x\\|y | z |"


class Inner(Strict):
    number: int = 1
    """How many."""


class Outer(Strict):
    percent: Annotated[float, Field(gt=0, le=50)]
    """How much, as ``percent`` of it:
    see docs/operate.md#outages."""
    count: Annotated[int, Field(ge=1)] | Literal["all"] = 3
    """One."""
    port: Annotated[int, Field(ge=1024, le=65535)] | None = None
    """Two."""
    names: list[Annotated[str, Field(pattern="^[a-z]+$", description="a name")]] = []
    """Three."""
    inner: dict[str, Inner] = {}
    """Four."""
    flag: bool = False
    """Five."""
    fraction: Annotated[float, Field(description="a fraction")] = 0.5
    """Six."""
    level: bool | int | float | str = "x"
    undescribed: Annotated[str, Field(pattern="^[a-z]+$")] = ""


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("percent", "a number above 0 and at most 50"),
        ("count", "a whole number of at least 1 or `all`"),
        ("port", "a whole number from 1024 to 65535"),
        ("names", "a list of names"),
        ("inner", "a mapping from a text to Inner"),
        ("flag", "`true` or `false`"),
        ("fraction", "a fraction"),
        ("level", "a level"),
    ],
)
def test_types_are_said_in_words(name: str, allowed: str) -> None:
    assert words_for(Outer.model_fields[name], lambda model: model.__name__) == allowed


def test_a_pattern_without_words_is_an_error() -> None:
    with pytest.raises(LookupError, match="write a description into its Field"):
        words_for(Outer.model_fields["undescribed"], str)


def test_what_a_key_is_for_stands_below_it() -> None:
    said = keys.descriptions(Outer)
    assert said["percent"] == "How much, as ``percent`` of it: see docs/operate.md#outages."
    assert "level" not in said
    written = keys.markdown(said["percent"], "studies/retail.md")
    assert written == "How much, as `percent` of it: see [Outages](../operate.md#outages)."


def test_a_block_about_nothing_says_so() -> None:
    with pytest.raises(LookupError, match="no page has a block"):
        keys.keys("clusterbench.spec.experiment.Nothing")
