"""Object storage as it may be elsewhere: slow, or without conditional writes."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from clusterbench.base.archive import Store
from clusterbench.base.connections import from_parts
from clusterbench.run.run import Run
from clusterbench_lab.layout import BUCKET
from clusterbench_lab.s3 import S3Server
from tests.field import storage
from tests.field.conftest import needs_field
from tests.field.runs import measured
from tests.field.s3_proxy import Proxy, proxy
from tests.field.world import Field

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]


def store_before(server: S3Server, made: Proxy) -> Store:
    return Store.of(from_parts("clusterbench_archive", storage.connection(server, made.endpoint_url)))


def test_a_slow_server_keeps_what_it_is_given(archive: S3Server, tmp_path: Path) -> None:
    """Text, a file of some size, and the refusal to write twice; each request waits."""
    key, large = uuid.uuid4().hex, tmp_path / "large"
    large.write_bytes(bytes(range(256)) * 40_000)
    with proxy(archive, delay_s=0.2) as made:
        store = store_before(archive, made)
        assert store.put_new(f"{key}/small", "größer".encode(), "text/plain")
        assert store.put_new(f"{key}/large file", large)
        assert not store.put_new(f"{key}/small", b"other")
        assert store.get(f"{key}/small") == "größer".encode()
        assert store.sha256(f"{key}/large file")[1] == large.stat().st_size
        assert sorted(store.keys(f"{key}/")) == [f"{key}/large file", f"{key}/small"]
        assert made.asked >= 6


@needs_field
@pytest.mark.long
def test_a_run_with_a_slow_archive_is_valid(world: Field, archive: S3Server, project: Path) -> None:
    with proxy(archive, delay_s=0.1) as made:
        connections = storage.archived(world.connections(), storage.connection(archive, made.endpoint_url))
        run = Run("smoke", f"test-{uuid.uuid4().hex[:12]}", connections)
        measured(run, "field", {"platforms": ["field"], "sweeps": ["lookups"], "repetitions": 1})
    assert run.archive.need_json("manifest.json")["valid"]


def test_a_server_that_ignores_the_condition_overwrites(archive: S3Server) -> None:
    """What such a server does, of which an archive must know: each object of it is to be written once."""
    key = uuid.uuid4().hex
    with proxy(archive, ignores_conditions=True) as made:
        client = store_before(archive, made).client
        for text in (b"first", b"second"):
            client.put_object(Bucket=BUCKET, Key=key, Body=text, IfNoneMatch="*")
        assert client.get_object(Bucket=BUCKET, Key=key)["Body"].read() == b"second"
