"""People's remarks in object storage: each is an object that is written once."""

from __future__ import annotations

import hashlib
import json

from clusterbench.base.archive import Store
from clusterbench.base.errors import ArchiveError
from clusterbench.base.in_parallel import in_parallel
from clusterbench.base.remarks import Remark


def write(store: Store, remark: Remark) -> str:
    """Returns its key. The same one again is there once."""
    body = json.dumps(remark.as_json(), indent=1, sort_keys=True).encode()
    key = f"{remark.folder}{remark.said_at:%Y%m%dT%H%M%SZ}-{hashlib.sha256(body).hexdigest()[:8]}.json"
    store.put_new(key, body, "application/json")
    return key


def read(store: Store, below: str) -> list[Remark]:
    """Of a folder, in the order in which they were said."""
    return sorted(in_parallel(lambda key: read_one(store, key), list(store.keys(below))), key=lambda one: one.said_at)


def read_one(store: Store, key: str) -> Remark:
    try:
        return Remark.of(json.loads(store.get(key) or b""))
    except (ValueError, TypeError) as error:
        raise ArchiveError(
            f"{store.url}{key}: is not a remark ({type(error).__name__}: {error}); remove the object if nobody needs it"
        ) from None
