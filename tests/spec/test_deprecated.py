"""Words that have a better name: read still, and warned of with the line, the new word and a date."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

import pytest

from clusterbench.base.records import Trial
from clusterbench.spec.deprecated import OLD_WORDS, warnings
from clusterbench.spec.experiment import Experiment
from clusterbench.spec.loading import load
from tests.results.test_firmness import trial

VALID = Path(__file__).parents[1] / "fixtures" / "valid" / "experiments" / "every_key.yaml"


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    path = tmp_path / "every_key.yaml"
    path.write_text(VALID.read_text().replace("order: ramp", "order: series"))
    return path


def test_an_old_word_is_read_as_the_new_one(old_file: Path) -> None:
    assert load(old_file, Experiment) == load(VALID, Experiment)


def test_it_is_warned_of_with_its_line_the_new_word_and_until_when_it_is_read(old_file: Path) -> None:
    (warning,) = warnings(old_file, "experiment")
    line = 1 + old_file.read_text().splitlines().index("    order: series")
    assert re.fullmatch(
        rf"{re.escape(str(old_file))}:{line}: sweeps\.\w+\.order: 'series' is called 'ramp' since "
        r"clusterbench 0\.3\.0; write 'order: ramp'\. Releases before 1 December 2027 read both",
        warning,
    )
    assert warnings(VALID, "experiment") == []
    assert warnings(old_file, "platform") == []


def test_a_file_that_cannot_be_read_is_for_lint_to_speak_of(tmp_path: Path) -> None:
    (broken := tmp_path / "broken.yaml").write_text("sweeps: [")
    assert warnings(broken, "experiment") == []


def test_every_old_word_is_still_read_by_its_date() -> None:
    assert all(word.old != word.new and re.fullmatch(r"\d+\.\d+\.\d+", word.since) for word in OLD_WORDS)


def test_a_trial_archived_by_an_older_version_is_of_its_ramp() -> None:
    today = asdict(trial(1))
    assert "ramp" in today
    older = {"series" if key == "ramp" else key: value for key, value in today.items()} | {"series": "lite.r1"}
    assert Trial.from_json(older).ramp == "lite.r1"
