"""Labs of the tests' own, beside the project's. What a test takes down or spoils it brings up again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clusterbench.lab import Lab, temporary_lab


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    with temporary_lab(block=77) as made:
        yield made


@pytest.fixture(scope="session")
def lab_with_airflow() -> Iterator[Lab]:
    with temporary_lab(block=78, airflow=True) as made:
        yield made
