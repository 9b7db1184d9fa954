"""Numbers printed in a paper, kept as data with their source, to stand beside ours."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clusterbench.spec.experiment import Level, Name
from clusterbench.spec.loading import Strict


class PublishedValue(Strict):
    """One number, the cell it belongs to (sweep and levels), and the words it was taken from."""

    sweep: Name
    measurement: Name
    platform: Name | None = None
    """Where the paper compares platforms."""
    ratio_to: Name | None = None
    """The platform that it is a ratio to; the unit is 1 then."""
    levels: dict[str, Level]
    value: float | int
    unit: str
    qualifier: Literal["exactly", "about", "at_least", "less_than", "derived"] = "exactly"
    source: Annotated[str, Field(min_length=1)]


class Published(Strict):
    """One YAML file in ``include/published``."""

    published: Name
    title: str
    authors: str
    cluster: str
    """The hardware and software that the paper measured, in its own words."""
    values: list[PublishedValue]
