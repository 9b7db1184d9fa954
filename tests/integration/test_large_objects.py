"""Files that go to object storage in parts, by the rule of all others: written once, never over. A real S3 server."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from clusterbench.base.archive import CONNECTION_ID, Store
from clusterbench.base.connections import Connections

SIZE = 13 * (1 << 20) + 7


@pytest.fixture
def store(connections: Connections) -> Store:
    """One for which 13 MiB are much."""
    return replace(Store.of(connections(CONNECTION_ID)), single_bytes_max=1 << 20, part_bytes=5 << 20)


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large"
    path.write_bytes(os.urandom(SIZE))
    return path


def digest(path: Path) -> tuple[str, int]:
    return hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_size


@pytest.fixture
def asked(store: Store) -> Iterator[list[str]]:
    """The requests that are made, by name."""
    names: list[str] = []

    def note(model: Any, **_: Any) -> None:
        names.append(model.name)

    store.client.meta.events.register("before-call.s3", note)
    yield names
    store.client.meta.events.unregister("before-call.s3", note)


def test_large_file_goes_in_parts_and_is_whole(store: Store, large: Path, asked: list[str]) -> None:
    assert store.put_new("large/whole", large)
    assert asked.count("UploadPart") == 3 and "PutObject" not in asked
    assert store.sha256("large/whole") == digest(large)


def test_what_is_there_is_not_written_over_nor_sent_again(store: Store, large: Path, asked: list[str]) -> None:
    store.put_new("large/there", b"of another try")
    assert not store.put_new("large/there", large)
    assert "UploadPart" not in asked
    assert store.get("large/there") == b"of another try"


def test_who_writes_while_the_parts_are_on_their_way_was_first(store: Store, large: Path) -> None:
    def somebody_else(model: Any, **_: Any) -> None:
        if model.name == "CompleteMultipartUpload":
            store.client.meta.events.unregister("before-call.s3", somebody_else)
            store.client.put_object(Bucket=store.bucket, Key=f"{store.prefix}large/raced", Body=b"theirs")

    store.client.meta.events.register("before-call.s3", somebody_else)
    assert not store.put_new("large/raced", large)
    assert store.get("large/raced") == b"theirs"


def test_server_puts_no_parts_together_over_what_is_there(store: Store) -> None:
    """What all of the above rests on, asked of the server itself."""
    where = {"Bucket": store.bucket, "Key": f"{store.prefix}large/asked"}
    upload = {**where, "UploadId": store.client.create_multipart_upload(**where)["UploadId"]}
    part = store.client.upload_part(**upload, PartNumber=1, Body=b"ours")
    store.client.put_object(**where, Body=b"theirs")
    parts = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    with pytest.raises(ClientError, match="PreconditionFailed"):
        store.client.complete_multipart_upload(**upload, MultipartUpload=parts, IfNoneMatch="*")  # type: ignore[arg-type]


@pytest.mark.parametrize("content", ["ours", "theirs"])
def test_file_whose_last_answer_was_lost_is_known_by_its_content(store: Store, large: Path, content: str) -> None:
    """The server has put the parts together; the request that nobody heard of is made again, and finds none."""

    def heard_before(model: Any, params: Any, **_: Any) -> None:
        if model.name == "CompleteMultipartUpload":
            store.client.meta.events.unregister("before-call.s3", heard_before)
            upload = params["query_string"]["uploadId"]
            body = large.read_bytes() if content == "ours" else b"theirs"
            store.client.put_object(Bucket=store.bucket, Key=f"{store.prefix}large/{content}", Body=body)
            store.client.abort_multipart_upload(
                Bucket=store.bucket, Key=f"{store.prefix}large/{content}", UploadId=upload
            )

    store.client.meta.events.register("before-call.s3", heard_before)
    assert store.put_new(f"large/{content}", large) == (content == "ours")
    assert store.get(f"large/{content}") == (large.read_bytes() if content == "ours" else b"theirs")
