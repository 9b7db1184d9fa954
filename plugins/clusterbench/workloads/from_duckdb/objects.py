"""Objects in object storage that DuckDB reads on the ETL host, by addresses that are signed for this alone.

The keys stay with the worker: the host is given an address for each object, with which it can be read, by whoever has
the address, for ``SIGNED_FOR_S`` seconds, and nothing else can be done.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterbench.base.errors import DatasetError, HostAwayError
from clusterbench.base.sql import Value, filled
from clusterbench.workloads.etl_files import TIMEOUT_S

if TYPE_CHECKING:
    from clusterbench.base.connections import Connections

EXTENSION = "httpfs"
SETTINGS = "SET http_retries = 10; SET http_retry_wait_ms = 1000; SET http_retry_backoff = 2;"
"""A server that is away is asked again for a quarter of an hour."""
SIGNED_FOR_S = TIMEOUT_S
"""As long as the making of load files may take."""
SIGNATURE = re.compile(r"\?[^\s'\"]*X-Amz-[^\s'\"]*")


@dataclass(frozen=True)
class Objects:
    """``s3://bucket/key``, where ``*`` stands for any name and ``**`` for folders, too."""

    connection: str
    """Of type ``aws``, with the keys to them."""
    names: tuple[str, ...]


def variable(table: str) -> str:
    """Of DuckDB: the addresses of a table's objects."""
    return f"objects_of_{table}"


def signed_sql(of: Mapping[str, Objects], connections: Connections) -> str:
    """Statements for DuckDB after which ``variable`` of each table holds its addresses. They are a secret.

    Raises DatasetError where there is no such object, or it may not be listed, and HostAwayError where nobody answers.
    """
    lines = []
    for table, objects in of.items():
        addresses: dict[str, Value] = {f"u{n}": one for n, one in enumerate(_signed(objects, connections))}
        listed = ", ".join(f"${name}" for name in addresses)
        lines.append(filled(f"SET VARIABLE {variable(table)} = [{listed}];", addresses))
    return "".join(f"{line}\n" for line in lines)


def without_signatures(said: str) -> str:
    """A message of DuckDB's, which names addresses."""
    return SIGNATURE.sub("", said)


def _signed(of: Objects, connections: Connections) -> list[str]:
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  DAGs are parsed without it

    from clusterbench.base.archive import s3_client  # noqa: PLC0415  likewise

    client = s3_client(connections(of.connection))
    found: list[str] = []
    for name in of.names:
        bucket, _, pattern = name.removeprefix("s3://").partition("/")
        try:
            pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=pattern.partition("*")[0])
            keys = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
        except (ClientError, BotoCoreError) as error:
            raise _explained(name, of.connection, error) from None
        matching = [key for key in keys if _matches(key, pattern)]
        if not matching:
            raise DatasetError(f"{name}: there is no such object, as connection {of.connection!r} sees it{_near(keys)}")
        found += [
            client.generate_presigned_url("get_object", {"Bucket": bucket, "Key": key}, SIGNED_FOR_S)
            for key in matching
        ]
    return found


def _matches(key: str, pattern: str) -> bool:
    parts = re.split(r"(\*\*|\*)", pattern)
    words = {"**": ".*", "*": "[^/]*"}
    return re.fullmatch("".join(words.get(part) or re.escape(part) for part in parts), key) is not None


def _near(keys: Sequence[str]) -> str:
    return f"; there is {keys[0]!r}" if keys else ""


def _explained(name: str, connection: str, error: Exception) -> DatasetError | HostAwayError:
    from clusterbench.base.archive import FAULTS_OF_SERVERS, code_of, status_of  # noqa: PLC0415  likewise

    where = f"{name}: cannot be listed by connection {connection!r}"
    if 0 < status_of(error) < FAULTS_OF_SERVERS:
        return DatasetError(f"{where} ({code_of(error)}); check its keys, its region and the policy of the bucket")
    return HostAwayError(f"{where}: {error}; check that the server is up")
