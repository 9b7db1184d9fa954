"""Object storage: the archive is the truth. Every object is written once; the manifest comes last and seals the run.

Layout below ``s3://bucket/<experiment>/<run id>/``: see ``docs/archive.md``. What is asked of the server is what
``include/s3/policy.json`` allows: to read, to write and to list below one prefix; nothing is ever deleted.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from clusterbench.base import multipart
from clusterbench.base.clock import now_iso
from clusterbench.base.connections import Connection
from clusterbench.base.errors import ArchiveAwayError, ArchiveError
from clusterbench.base.in_parallel import AT_ONCE, in_parallel
from clusterbench.base.patience import ARCHIVE, NONE, Patience
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.base.run_ids import asked_at

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

T = TypeVar("T")

MANIFEST = "manifest.json"
PROBE = "_doctor/conditional_write"
CHUNK_BYTES = 1 << 20
SINGLE_BYTES_MAX = 1 << 30
"""Up to here a file goes in one request. S3 takes 5 GiB in one; a smaller one is sooner sent again after an outage."""
PARTS_AT_ONCE = 4
"""Each is in memory on its way."""
CONNECTION_ID = "clusterbench_archive"
DENIED = ("AccessDenied", "403", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken")
BUSY = (
    *("SlowDown", "RequestTimeout", "RequestTimeTooSkewed", "OperationAborted", "ServiceUnavailable"),
    "ConditionalRequestConflict",  # somebody else writes an object of that key at this moment
)
NO_MORE_PARTS = ("NoSuchUpload", "InvalidPart")
"""What an upload's last request gets where it was heard before, and its answer was lost."""
FAULTS_OF_SERVERS = 500
"""Of HTTP's statuses, from here on."""
PREFIX = re.compile(r"([\w.-]*\w[\w.-]*/)*\Z", re.ASCII)


@dataclass(frozen=True)
class Store:
    """A bucket, or what is below ``prefix`` in it, and the client that reaches it. Keys are relative to the prefix."""

    client: S3Client
    bucket: str
    endpoint: str
    prefix: str = ""
    """Empty, or ending in a slash."""
    patience: Patience = NONE
    single_bytes_max: int = SINGLE_BYTES_MAX
    """A larger file goes in parts."""
    part_bytes: int = multipart.PART_BYTES
    waits_when_denied: bool = True
    """Whoever was let in before is denied by mistake, and waits for that to be fixed; who comes first, does not."""

    @classmethod
    def of(cls, connection: Connection) -> Store:
        """From an Airflow connection of type ``aws``: keys as login and password, bucket in its extra."""
        bucket = connection.need("bucket", "the bucket of the archive")
        return cls(s3_client(connection), bucket, _endpoint(connection) or "AWS", _prefix(connection))

    @property
    def url(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}"

    def put_new(self, key: str, body: bytes | Path, content_type: str = "application/octet-stream") -> bool:
        """Write an object unless one of that key is there; False when it was. Never overwrites."""
        if isinstance(body, Path) and body.stat().st_size > self.single_bytes_max:
            return self._put_in_parts(key, body, content_type)
        tries = 0

        def put() -> bool:
            nonlocal tries
            tries += 1
            with body.open("rb") if isinstance(body, Path) else nullcontext(body) as content:
                self.client.put_object(
                    Bucket=self.bucket,
                    Key=self.prefix + key,
                    Body=content,
                    IfNoneMatch="*",
                    ContentType=content_type,
                )
            return True

        try:
            return self._ask("write", key, put)
        except _IsThereError:  # it may be ours: of a try whose answer was lost
            return tries > 1 and self.sha256(key)[0] == _sha256_of(body)

    def _put_in_parts(self, key: str, body: Path, content_type: str) -> bool:
        """As ``put_new``: the last request puts the parts together unless an object of that key is there by then.

        Parts of an upload that never came to its end stay hidden in the bucket: a rule of the bucket removes them
        (docs/archive.md), because clusterbench may delete nothing.
        """
        if key in self.keys(key):
            return False
        where: dict[str, Any] = {"Bucket": self.bucket, "Key": self.prefix + key}
        begun = self._ask("write", key, lambda: self.client.create_multipart_upload(**where, ContentType=content_type))
        upload = {**where, "UploadId": begun["UploadId"]}
        spans = multipart.parts(body.stat().st_size, self.part_bytes)

        def put(number: int) -> dict[str, Any]:
            with body.open("rb") as file:
                file.seek(spans[number - 1][0])
                content = file.read(spans[number - 1][1])
            done = self._ask("write", key, lambda: self.client.upload_part(**upload, PartNumber=number, Body=content))
            return {"PartNumber": number, "ETag": done["ETag"]}

        with ThreadPoolExecutor(PARTS_AT_ONCE) as workers:
            parts = list(workers.map(put, range(1, len(spans) + 1)))

        def put_together() -> bool:
            together: Any = {"Parts": parts}
            try:
                self.client.complete_multipart_upload(**upload, MultipartUpload=together, IfNoneMatch="*")
            except ClientError as error:
                if code_of(error) not in NO_MORE_PARTS:
                    raise
                if key in self.keys(key):
                    raise _IsThereError from None
                raise ArchiveAwayError(
                    f"{self.url}{key}: the server is still putting its parts together, or has lost them ({error})"
                ) from None
            return True

        try:
            return self._ask("write", key, put_together)
        except _IsThereError:  # it may be ours: putting gigabytes together may take longer than an answer is waited for
            return self.sha256(key)[0] == _sha256_of(body)

    def check_conditional_writes(self) -> None:
        """Raises ArchiveError where what is there is overwritten: some stores do not know If-None-Match.

        The object that is written twice stays, as nothing in the archive is ever deleted. What it holds says nothing:
        a gateway that has been fixed since may have overwritten it.
        """
        self.put_new(PROBE, b"first", "text/plain")
        before = self.get(PROBE)
        if self.put_new(PROBE, uuid4().hex.encode(), "text/plain") or self.get(PROBE) != before:
            raise ArchiveError(
                f"{self.endpoint} overwrote {self.url}{PROBE}, although the request forbade it (If-None-Match): two "
                "runs could overwrite each other's results. Use an object store with conditional writes"
            )

    def get(self, key: str) -> bytes | None:
        """The object's bytes, or None when there is no such object."""

        def get() -> bytes | None:
            try:
                return self.client.get_object(Bucket=self.bucket, Key=self.prefix + key)["Body"].read()
            except ClientError as error:
                if code_of(error) in ("NoSuchKey", "404"):
                    return None
                if code_of(error) in DENIED and key not in self.keys(key):
                    return None  # so AWS answers to who may list below a prefix only
                raise

        return self._ask("read", key, get)

    def stream(self, key: str) -> Iterator[bytes]:
        """An object that is there, piece by piece, so that its size does not matter."""
        found = self._ask("read", key, lambda: self.client.get_object(Bucket=self.bucket, Key=self.prefix + key))
        return found["Body"].iter_chunks(CHUNK_BYTES)

    def sha256(self, key: str) -> tuple[str, int]:
        """Digest and size of an object, streamed, so that its size does not matter."""

        def read() -> tuple[str, int]:
            digest, size = hashlib.sha256(), 0
            body = self.client.get_object(Bucket=self.bucket, Key=self.prefix + key)["Body"]
            for chunk in body.iter_chunks(CHUNK_BYTES):
                digest.update(chunk)
                size += len(chunk)
            return digest.hexdigest(), size

        return self._ask("read", key, read)

    def keys(self, prefix: str) -> Iterator[str]:
        """Of all objects whose key begins with ``prefix``."""
        for page in self._pages(prefix, {}):
            for entry in page.get("Contents", []):
                yield entry["Key"].removeprefix(self.prefix)

    def folders(self, prefix: str) -> list[str]:
        """Names directly below ``prefix``, which ends in a slash or is empty."""
        below = self.prefix + prefix
        return [
            entry["Prefix"][len(below) : -1]
            for page in self._pages(prefix, {"Delimiter": "/"})
            for entry in page.get("CommonPrefixes", [])
        ]

    def _pages(self, prefix: str, how: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Of a listing. A page that did not come is asked for again, not those before it."""
        next_page: dict[str, str] = {}
        while True:
            page = self._ask(
                "list",
                prefix,
                lambda asked=next_page: self.client.list_objects_v2(  # type: ignore[misc]
                    Bucket=self.bucket, Prefix=self.prefix + prefix, **how, **asked
                ),
            )
            yield page
            if not page.get("IsTruncated"):
                return
            next_page = {"ContinuationToken": page["NextContinuationToken"]}

    def _ask(self, verb: str, key: str, request: Callable[[], T]) -> T:
        """What the request returns; as long as patience lasts, where the server is away. Raises ArchiveError."""

        def ask() -> T:
            try:
                return request()
            except (ClientError, BotoCoreError) as error:
                if code_of(error) in ("PreconditionFailed", "412"):
                    raise _IsThereError from None
                raise self._explain(verb, key, error) from None

        return self.patience.insist(ask, ARCHIVE)

    def _explain(self, verb: str, key: str, error: Exception) -> ArchiveError:
        where = f"object storage at {self.endpoint}, bucket {self.bucket!r}: could not {verb} {self.prefix + key!r}"
        code = code_of(error)
        if code in DENIED:
            kind = ArchiveAwayError if self.waits_when_denied else ArchiveError
            return kind(
                f"{where}: access denied ({code}); check the keys of connection {CONNECTION_ID!r}, its 'prefix', and "
                "the policy of the bucket"
            )
        if code == "NoSuchBucket":
            return ArchiveError(
                f"{where}: there is no such bucket; create it, or correct 'bucket' of {CONNECTION_ID!r}"
            )
        if isinstance(error, ClientError):
            its_own = status_of(error) >= FAULTS_OF_SERVERS
            kind = ArchiveAwayError if its_own or code in BUSY else ArchiveError
            return kind(f"{where}: the server answered {code or error}; what was written before is kept")
        return ArchiveAwayError(
            f"{where}: {error}; check that the server is up. What was written before is kept, and the task can be "
            "tried again"
        )


def s3_client(connection: Connection) -> S3Client:
    """Of an Airflow connection of type ``aws``: keys as login and password, or those of the worker's own role."""
    endpoint = _endpoint(connection)
    return boto3.client(
        "s3",
        endpoint_url=endpoint or None,
        aws_access_key_id=connection.login or None,
        aws_secret_access_key=connection.password or None,
        region_name=str(connection.extra.get("region_name") or "us-east-1"),
        config=Config(
            connect_timeout=10,
            read_timeout=60,
            max_pool_connections=AT_ONCE,
            retries={"max_attempts": 4, "mode": "standard"},
            signature_version="s3v4",
            s3={"addressing_style": "path"} if endpoint else {},
        ),
    )


def _endpoint(connection: Connection) -> str:
    return str(connection.extra.get("endpoint_url") or "")


def nth(what: str, number: int) -> str:
    """A file's name; of the first without its number, as archives had it before there were several."""
    return f"{what}.json" if number == 1 else f"{what}.{number}.json"


def _of_attempt(trial: Trial, what: str, attempt: int) -> str:
    return f"trials/{trial.platform}/{trial.id}/{nth(what, attempt)}"


def _prefix(connection: Connection) -> str:
    """Of all keys: what the connection's extra says, with one slash at its end."""
    given = str(connection.extra.get("prefix") or "")
    prefix = f"{given.strip('/')}/" if given.strip("/") else ""
    if not PREFIX.match(prefix):
        raise ArchiveError(
            f"connection {connection.id!r}: 'prefix' of its extra is {given!r}; allowed are names of letters, digits, "
            "'.', '_' and '-', with slashes between them"
        )
    return prefix


class _IsThereError(Exception):
    """An object of that key was there before."""


def _sha256_of(body: bytes | Path) -> str:
    if isinstance(body, bytes):
        return hashlib.sha256(body).hexdigest()
    with body.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def status_of(error: Exception) -> int:
    """HTTP status of an error; 0 if it has none."""
    response = error.response if isinstance(error, ClientError) else {}
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def code_of(error: Exception) -> str:
    """What the server called its refusal; nothing where it could not be asked."""
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, ClientError) else ""


def as_json(data: Mapping[str, Any]) -> bytes:
    """As objects in the archive are written."""
    return json.dumps(data, indent=1, sort_keys=True, default=str).encode()


class RunArchive:
    """One run's objects. Keys given to its methods are relative to the run."""

    def __init__(self, store: Store, experiment: str, run_id: str) -> None:
        self.store, self.experiment, self.run_id = store, experiment, run_id
        self.prefix = f"{experiment}/{run_id}/"

    @property
    def name(self) -> str:
        """As commands take it."""
        return f"{self.experiment}/{self.run_id}"

    @property
    def url(self) -> str:
        return self.store.url + self.prefix

    def put_new(self, key: str, body: bytes | Path, content_type: str = "application/octet-stream") -> bool:
        return self.store.put_new(self.prefix + key, body, content_type)

    def put_json(self, key: str, data: Mapping[str, Any]) -> bool:
        """Write once; False when an earlier try has written it, whose content then stands."""
        return self.put_new(key, as_json(data), "application/json")

    def get_json(self, key: str) -> dict[str, Any] | None:
        raw = self.store.get(self.prefix + key)
        return None if raw is None else json.loads(raw)

    def need_json(self, key: str) -> dict[str, Any]:
        data = self.get_json(key)
        if data is None:
            raise ArchiveError(f"{self.url}{key}: is not there; the task that writes it did not finish")
        return data

    def keys(self, below: str = "") -> list[str]:
        return [key[len(self.prefix) :] for key in self.store.keys(self.prefix + below)]

    # Trials.

    def trial(self, platform: str, trial_id: str) -> TrialRecord | None:
        data = self.get_json(f"trials/{platform}/{trial_id}/trial.json")
        return None if data is None else TrialRecord.from_json(data)

    def note_started(self, trial: Trial, attempt: int) -> None:
        """That the driver of this attempt was started; the first time stands."""
        self.put_json(_of_attempt(trial, "started", attempt), {"started_at": now_iso()})

    def started(self, trial: Trial, attempt: int) -> str:
        """When the attempt's driver was started, in ISO; empty where it was not."""
        return str((self.get_json(_of_attempt(trial, "started", attempt)) or {}).get("started_at", ""))

    def last_started(self, platform: str) -> str:
        """The id of the platform's trial whose driver was started last; empty before the first."""
        folder = f"trials/{platform}/"
        keys = [key for key in self.keys(folder) if key.rpartition("/")[2].startswith("started.")]
        times = in_parallel(lambda key: str(self.need_json(key)["started_at"]), keys)
        _, last = max(zip(times, keys, strict=True), default=("", ""))
        return last.removeprefix(folder).rpartition("/")[0]

    def attempt(self, trial: Trial) -> int:
        """Which one it is: 1, and one more for each time that a person has stopped it while it was measured."""
        return 1 + len(self.keys(f"trials/{trial.platform}/{trial.id}/stopped."))

    def note_stopped(self, trial: Trial, why: str) -> None:
        """That what was begun of it is void; who resumes the run measures it from its start."""
        self.put_json(_of_attempt(trial, "stopped", self.attempt(trial)), {"at": now_iso(), "why": why})

    def stopped(self, platform: str) -> dict[str, int]:
        """Ids of the platform's trials that were ever stopped -> how often."""
        folder = f"trials/{platform}/"
        names = [key.removeprefix(folder).partition("/") for key in self.keys(folder)]
        return dict(Counter(trial_id for trial_id, _, file in names if file.startswith("stopped.")))

    def stops(self, trial: Trial) -> list[dict[str, str]]:
        """When (``at``) and why the trial was stopped, each time."""
        return [self.need_json(key) for key in sorted(self.keys(f"trials/{trial.platform}/{trial.id}/stopped."))]

    def records(self, trials: Sequence[tuple[str, str]]) -> list[TrialRecord | None]:
        """Of these trials (platform, id), in their order, read several at once."""
        return in_parallel(lambda trial: self.trial(*trial), trials)

    def put_trial(self, record: TrialRecord, raw: Path | None) -> TrialRecord:
        """Raw output and telemetry first, the record last: a trial with a record is whole. Returns what stands."""
        folder = f"trials/{record.trial.platform}/{record.trial.id}"
        if raw is not None:
            paths = [path for path in sorted(raw.rglob("*")) if path.is_file() and path.stat().st_size]
            in_parallel(lambda path: self.put_new(f"{folder}/{path.relative_to(raw)}", path), paths)
        if self.put_json(f"{folder}/trial.json", record.as_json()):
            return record
        return self.trial(record.trial.platform, record.trial.id) or record

    def trials(self) -> list[TrialRecord]:
        """Every record, in the order in which the trials ran."""
        keys = [key for key in self.keys("trials/") if key.endswith("/trial.json")]
        found = in_parallel(lambda key: TrialRecord.from_json(self.need_json(key)), keys)
        return sorted(found, key=lambda record: (record.started_at, record.trial.id))

    def errors(self) -> list[dict[str, Any]]:
        """Errors of steps, each once with how often it came (``times``), in the order in which they came first."""
        found = [self.get_json(key) or {} for key in self.keys("errors/") if key.endswith(".json")]
        once: dict[tuple[Any, ...], dict[str, Any]] = {}
        for error in sorted(found, key=lambda error: str(error.get("at"))):
            key = tuple(error.get(name) for name in ("platform", "step", "error"))
            blank = {"platform": "run", "step": "", "error": "", "at": ""}
            once.setdefault(key, {**blank, **error, "times": 0})["times"] += 1
        return list(once.values())

    def outages(self) -> list[dict[str, Any]]:
        """Who was waited for: ``Outage.as_json`` with step, platform and trial; the first one first."""
        keys = [key for key in self.keys("outages/") if key.endswith(".json")]
        return sorted(in_parallel(self.need_json, keys), key=lambda outage: str(outage["since"]))

    # What every trial must answer.

    def answers(self, workload: str, table: str) -> dict[str, Any]:
        """Empty where nobody knows it yet."""
        return self.get_json(_answers_key(workload, table)) or {}

    def put_answers(self, workload: str, table: str, answers: Mapping[str, Any]) -> None:
        self.put_json(_answers_key(workload, table), answers)

    # Plans of statements.

    def plans(self, platform: str, cell: str) -> dict[str, str]:
        """Statement -> plan as text; empty where nobody has asked yet, or statements have none."""
        return dict((self.get_json(_plans_key(platform, cell)) or {}).get("statements") or {})

    def put_plans(self, platform: str, cell: str, plans: Mapping[str, str]) -> None:
        self.put_json(_plans_key(platform, cell), {"statements": dict(plans)})

    # The seal.

    def seal(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Write the manifest: every object's SHA-256 and size, once. Raises ArchiveError if another seal stands."""
        keys = [key for key in self.keys() if key != MANIFEST]
        digests = in_parallel(lambda key: self.store.sha256(self.prefix + key), keys)
        objects = {key: {"sha256": sha, "bytes": size} for key, (sha, size) in zip(keys, digests, strict=True)}
        manifest = {"experiment": self.experiment, "run_id": self.run_id, **facts, "objects": objects}
        if not self.put_json(MANIFEST, manifest):
            standing = self.need_json(MANIFEST)
            if standing["objects"] != objects:
                raise ArchiveError(
                    f"{self.url}{MANIFEST}: a manifest exists already and lists other objects; somebody else "
                    "writes to this run: run 'clusterbench verify' on it and start a new run"
                )
            return standing
        return manifest

    @property
    def sealed(self) -> bool:
        return self.get_json(MANIFEST) is not None

    def verify(self) -> list[str]:
        """Every difference between the manifest and what is stored, one line each; empty when all is as it was."""
        manifest = self.get_json(MANIFEST)
        if manifest is None:
            return [f"{self.url}: has no manifest; the run is not finished, or its manifest was deleted"]
        listed, stored = manifest["objects"], set(self.keys()) - {MANIFEST}
        problems = [f"{key}: is in the manifest but missing in storage" for key in sorted(set(listed) - stored)]
        problems += [f"{key}: is in storage but not in the manifest" for key in sorted(stored - set(listed))]
        both = sorted(stored & set(listed))
        digests = in_parallel(lambda key: self.store.sha256(self.prefix + key), both)
        for key, (digest, size) in zip(both, digests, strict=True):
            if digest != listed[key]["sha256"]:
                problems.append(
                    f"{key}: changed after the run: {size} bytes with SHA-256 {digest[:12]}…, in the manifest "
                    f"{listed[key]['bytes']} bytes with {listed[key]['sha256'][:12]}…"
                )
        return problems


def experiments_in(store: Store) -> list[str]:
    """Experiments that have runs in the archive, and ``weekly`` where it has."""
    return [name for name in store.folders("") if not name.startswith("_")]


def runs_in(store: Store, experiment: str | None = None) -> list[RunArchive]:
    """Runs, finished or not, the newest first: of one experiment, or of all and the weekly ones.

    Only names are listed and no object is read, so thousands of runs take a few requests. A run id begins with its
    time; one that does not is put behind all that do.
    """
    experiments = experiments_in(store) if experiment is None else [experiment]
    folders = in_parallel(lambda name: store.folders(f"{name}/"), experiments)
    found = [(name, run_id) for name, ids in zip(experiments, folders, strict=True) for run_id in ids]
    found.sort(key=lambda run: (asked_at(run[1]) is not None, run[1], run[0]), reverse=True)
    return [RunArchive(store, name, run_id) for name, run_id in found]


def find_run(store: Store, run: str) -> RunArchive:
    """A run by ``experiment/run id`` or by its run id alone. Raises ArchiveError that lists the newest runs."""
    experiment, _, run_id = run.rpartition("/")
    for name in [experiment] if experiment else experiments_in(store):
        if run_id in store.folders(f"{name}/"):
            return RunArchive(store, name, run_id)
    newest = [found.name for found in runs_in(store)[:5]]
    raise ArchiveError(
        f"no run {run!r} in the archive; the newest are: {', '.join(newest) or 'none yet'}; "
        "'clusterbench list' shows more"
    )


def _plans_key(platform: str, cell: str) -> str:
    return f"plans/{platform}/{cell}.json"


def _answers_key(workload: str, table: str) -> str:
    return f"answers/{workload}-{table}.json"
