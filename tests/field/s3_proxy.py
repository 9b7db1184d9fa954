"""An S3 server that is slow, or one that ignores ``If-None-Match``: a proxy before the lab's real one.

A request is passed on as it came, its Host header, too, so that its signature holds. Where the condition is ignored, it
is taken out of a request, which is then signed anew with the same keys, because clients sign that header. So the real
server overwrites the object, as one does that never heard of the header.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from clusterbench_lab.s3 import S3Server

CONDITION = "if-none-match"
OF_ONE_HOP = {"connection", "keep-alive", "transfer-encoding"}
PAYLOAD = "x-amz-content-sha256"


class _SignedAgain(S3SigV4Auth):
    """The body stays, and with it what was signed of it."""

    def payload(self, request: Any) -> str:
        return str(request.context["payload"])


@dataclass
class Proxy:
    """``asked`` counts the requests that have come."""

    server: S3Server
    delay_s: float
    ignores_conditions: bool
    endpoint_url: str = ""
    asked: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def pass_on(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> http.client.HTTPResponse:
        with self.lock:
            self.asked += 1
        time.sleep(self.delay_s)
        sent = {name.lower(): value for name, value in headers.items() if name.lower() not in OF_ONE_HOP}
        if self.ignores_conditions and CONDITION in sent:
            sent = self._signed(method, path, {name: sent[name] for name in sent if name != CONDITION})
        connection = http.client.HTTPConnection(self.server.address, self.server.port, timeout=60)
        connection.request(method, path, body, {**sent, "content-length": str(len(body))})
        return connection.getresponse()

    def _signed(self, method: str, path: str, headers: dict[str, str]) -> dict[str, str]:
        keys = Credentials(self.server.credentials.s3_access_key, self.server.credentials.s3_secret_key)
        kept = {name: value for name, value in headers.items() if name not in ("authorization", "x-amz-date")}
        request = AWSRequest(method, f"http://{headers['host']}{path}", kept)
        request.context["payload"] = headers[PAYLOAD]
        _SignedAgain(keys, "s3", "us-east-1").add_auth(request)
        return {name.lower(): value for name, value in request.headers.items()}


@contextmanager
def proxy(server: S3Server, *, delay_s: float = 0, ignores_conditions: bool = False) -> Iterator[Proxy]:
    """Up on entry, gone on exit, beside the server that it stands before."""
    made = Proxy(server, delay_s, ignores_conditions)
    listener = ThreadingHTTPServer((server.address, 0), _handler(made))
    made.endpoint_url = f"http://{server.address}:{listener.server_port}"
    thread = threading.Thread(target=listener.serve_forever, name="s3_proxy")
    thread.start()
    try:
        yield made
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()


def _handler(made: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            sent = {name: value for name, value in self.headers.items() if name.lower() != "expect"}
            said = made.pass_on(self.command, self.path, sent, _body(self))
            self.send_response(said.status, said.reason)
            content = said.read()
            for name, value in said.getheaders():
                if name.lower() not in OF_ONE_HOP | {"content-length", "date", "server"}:
                    self.send_header(name, value)
            length = said.headers.get("content-length", "0") if self.command == "HEAD" else str(len(content))
            self.send_header("Content-Length", length)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = answer  # noqa: N815  as the library calls them

        def log_message(self, *said: object) -> None:
            """Nobody reads it."""

    return Handler


def _body(request: BaseHTTPRequestHandler) -> bytes:
    """What came, also in chunks, of which the length is told before each."""
    if request.headers.get("Transfer-Encoding", "").lower() != "chunked":
        return request.rfile.read(int(request.headers.get("Content-Length") or 0))
    found = bytearray()
    while size := int(request.rfile.readline().split(b";")[0], 16):
        found += request.rfile.read(size)
        request.rfile.readline()
    request.rfile.readline()
    return bytes(found)
