"""Flame graphs are drawn, and fit into a page."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree

import pytest

from clusterbench.base.errors import ClusterbenchError
from clusterbench.base.profiles import Profile
from clusterbench.report import flame_graph

PROFILE = Profile({"postgres;main;scan<int>": 60, "postgres;main;sort": 30, "a & b;x": 10})


DRAWN = pytest.mark.skipif(sys.version_info >= (3, 12), reason="pyinferno has no package for this version of Python")


@DRAWN
def test_every_frame_is_drawn_with_its_share() -> None:
    svg = flame_graph.draw(PROFILE, "reads <at> night")
    titles = {element.text for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("title")}
    assert {"scan<int> (60 samples, 60.00%)", "a & b (10 samples, 10.00%)"} <= titles
    assert "reads &lt;at&gt; night" in svg and "<script" in svg


@DRAWN
def test_part_of_a_page_has_no_scripts_styles_or_names() -> None:
    part = flame_graph.for_page(flame_graph.draw(PROFILE, ""))
    assert part.startswith("<svg")
    assert not any(word in part for word in ("<script", "<style", " id=", "onload", "fg:x", "<!--"))
    assert "<title>sort (30 samples, 30.00%)</title>" in part
    ElementTree.fromstring(part)


@DRAWN
def test_difference_says_what_took_more_and_what_less() -> None:
    after = Profile({"postgres;main;scan<int>": 120, "postgres;main;sort": 60, "postgres;main;lock": 20})
    svg = flame_graph.draw_difference(PROFILE, after, "")
    colours = {
        group[0].text.split(" ")[0]: group[1].attrib["fill"]  # type: ignore[union-attr]
        for group in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}g")
    }
    red, _, blue = colours["lock"].removeprefix("rgb(").rstrip(")").split(",")
    assert int(red) > int(blue), "new"
    assert colours["sort"] == "rgb(250,250,250)", "the same share"


def test_where_it_cannot_be_drawn_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyinferno", None)
    with pytest.raises(ClusterbenchError, match=r"Python 3\.11, or put the file profile\.folded\.gz"):
        flame_graph.draw(PROFILE, "")
