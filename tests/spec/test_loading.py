"""Every invalid descriptor is refused with the message that its own first lines announce."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clusterbench.base.errors import SpecError
from clusterbench.spec import Experiment, Platform
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.loading import load
from tests import FIXTURES
from tests.spec.project import expected, valid_project, with_file

INVALID = sorted((FIXTURES / "invalid").glob("*/*.yaml"))


def test_valid_project_has_no_problem(tmp_path: Path) -> None:
    assert valid_project(tmp_path).lint() == []


@pytest.mark.parametrize("source", INVALID, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_invalid_file_is_refused_in_words(source: Path, tmp_path: Path) -> None:
    valid_project(tmp_path)
    path = with_file(tmp_path, source)
    assert expected(source), "the file does not announce its message"
    found = Catalog(tmp_path).lint()
    assert len(found) == len(expected(source)), found
    for one, message in zip(found, expected(source), strict=True):
        assert re.fullmatch(re.escape(f"{path}{message}").replace(r"\.\.\.", r"\w+(, \w+)*"), one), one


def test_no_kind_of_file_lacks_invalid_examples() -> None:
    assert {path.parent.name for path in INVALID} == {"experiments", "platforms", "published"}


def test_every_field_of_a_message_is_where_the_file_has_it() -> None:
    """The announced line really holds the announced field, so the expectations were not just copied."""
    for source in INVALID:
        lines = source.read_bytes().decode("latin-1").splitlines()
        for message in expected(source):
            if "is missing" in message or message.startswith(": ") or message.count(":") < 3:
                continue
            number, field = int(message.split(":")[1]), message.split(":")[2].strip().split(".")
            if " " in field[0]:
                continue
            names = [part for part in field if not part.isdigit()]
            assert names[-1] in lines[number - 1], f"{source.name}: {message}"


def test_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("")
    with pytest.raises(SpecError, match=r"empty\.yaml:1: must be a mapping of keys to values, found nothing"):
        load(tmp_path / "empty.yaml", Experiment)


def test_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"absent\.yaml: cannot be read: No such file or directory; check the name"):
        load(tmp_path / "absent.yaml", Platform)


def test_all_problems_of_a_file_are_told_at_once() -> None:
    source = FIXTURES / "invalid/experiments/two_mistakes.yaml"
    with pytest.raises(SpecError) as caught:
        load(source, Experiment)
    assert len(caught.value.problems) == 3
    assert str(caught.value) == "\n".join(caught.value.problems)


def test_what_was_loaded_cannot_be_changed() -> None:
    experiment = load(FIXTURES / "valid/experiments/smallest.yaml", Experiment)
    with pytest.raises(ValueError, match="frozen"):
        experiment.seed = 8  # type: ignore[misc]
