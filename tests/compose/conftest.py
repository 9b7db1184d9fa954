"""Builds the images, brings everything up once for all tests here, and takes everything down, also after a failure."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterbench.airflow.api import AirflowApi
from tests.compose.containers import Containers


@pytest.fixture(scope="session")
def containers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Containers]:
    made = Containers(Path(tmp_path_factory.mktemp("compose")))
    try:
        made.docker("info")
    except (AssertionError, FileNotFoundError) as error:
        raise AssertionError(
            "these tests need a Docker engine, and none answers; start one (`dockerd`, or systemctl start docker), "
            "or let .ci/run do it"
        ) from error
    try:
        made.remove()  # what an earlier, killed run of these tests left
        for step, act in {
            "base image": lambda: made.script("base_image.sh"),
            "secrets": lambda: made.script("secrets.sh"),
            "build": lambda: made.compose("build", timeout_s=900),
            "up": lambda: made.compose("up", "-d", timeout_s=600),
            "all healthy": made.wait_until_well,
        }.items():
            begun = time.monotonic()
            act()
            print(f"{step}: {time.monotonic() - begun:.0f} s")
        yield made
    finally:
        made.remove()
        assert made.left() == []


@pytest.fixture(scope="session")
def api(containers: Containers) -> AirflowApi:
    return containers.api()
