"""A model endpoint on loopback, speaking real HTTP, whose answers are known and whose faults are ordered.

``with ModelServer() as server`` gives ``server.base_url``. A route is a function of the server and the
request; another API is another entry of ``routes``. Faults are queued, and each spoils the next request.
"""

from __future__ import annotations

import base64
import json
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Json = dict[str, Any]


def vector_of(text: str, dimensions: int) -> NDArray[np.float32]:
    """The vector this server gives the text: float32 (dimensions,) from a hash of it, not normalised."""
    seed = int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())
    return np.random.default_rng(seed).normal(size=dimensions).astype(np.float32)


@dataclass(frozen=True)
class Fault:
    """What happens to one request instead of, or on the way to, its answer.

    Attributes:
        status: Answer with this status and ``error`` as the body; None lets the route answer.
        error: The ``error`` object of the body.
        headers: Added to the answer.
        drop: Close the connection: "before" any byte, or "midway" in the body.
        hang: Say nothing until the server is closed or the client is gone.
        body: Send these bytes, with status 200, as the answer.
        alter: Called with the route's answer; what it returns is sent.
    """

    status: int | None = None
    error: Json = field(default_factory=lambda: {"message": "planned fault"})
    headers: dict[str, str] = field(default_factory=dict)
    drop: str = ""
    hang: bool = False
    body: bytes | None = None
    alter: Callable[[Json], Json] | None = None


@dataclass(frozen=True)
class Request:
    """One request as it came.

    Attributes:
        route: Method and path, such as ``POST /v1/embeddings``.
        headers: By name in lower case.
        raw: The bytes of the body.
        body: The body if it is a JSON object, else empty.
    """

    route: str
    headers: dict[str, str]
    raw: bytes
    body: Json


class RouteError(Exception):
    """A route refuses the request."""

    def __init__(self, status: int, error: Json) -> None:
        super().__init__(status)
        self.status, self.error = status, error


class ModelServer:
    """The server; set its attributes at any time.

    Attributes:
        dimensions: Length of the vectors, where the request asks for none.
        refuse_marker: A request with a text that contains it is refused with ``refuse_status``; '' never.
        refuse_status: See above.
        is_base64: Honour ``encoding_format="base64"``; else answer lists.
        api_key: When set, another key is answered with 401.
        requests: All requests so far.
        faults: Spoil the next requests, one each.
        always: Spoils every request that has no fault of its own.
        hung_up: Set once a client has closed a connection.
        routes: Function by method and path; a key that ends in ``/`` serves all paths below it.
    """

    def __init__(self, dimensions: int = 8) -> None:
        self.dimensions = dimensions
        self.refuse_marker = ""
        self.refuse_status = 400
        self.is_base64 = True
        self.api_key = ""
        self.requests: list[Request] = []
        self.faults: deque[Fault] = deque()
        self.always: Fault | None = None
        self.routes: dict[str, Route] = {"POST /v1/embeddings": embeddings}
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.hung_up = threading.Event()

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"model_server": self})
        self._http = _QuietServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def base_url(self) -> str:
        """Root of the API."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def inputs(self) -> list[list[str]]:
        """The ``input`` of each request so far."""
        return [request.body["input"] for request in self.requests]

    def arrived(self, request: Request) -> Fault:
        """Record the request and take its fault."""
        with self._lock:
            self.requests.append(request)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            return self.faults.popleft() if self.faults else self.always or Fault()

    def left(self) -> None:
        """A request is over."""
        with self._lock:
            self._at_once -= 1

    def answer(self, request: Request) -> Json | bytes:
        """The route's answer, before any fault."""
        if self.api_key and request.headers.get("authorization") != f"Bearer {self.api_key}":
            raise RouteError(401, {"message": f"Incorrect API key: {request.headers.get('authorization')}"})
        path = request.route.split("?")[0]
        folders = [path[: i + 1] for i, c in enumerate(path) if c == "/"]
        route = next((self.routes[p] for p in (path, *reversed(folders)) if p in self.routes), None)
        if route is None:
            raise RouteError(404, {"message": f"no route {request.route}"})
        return route(self, request)

    def wait_for_close(self) -> None:
        """Block a handler until the test is over."""
        self._closing.wait(30)


Route = Callable[[ModelServer, Request], Json | bytes]
"""Returns the JSON of the answer, or its bytes (a file)."""


def embeddings(server: ModelServer, request: Request) -> Json:
    """Route ``/v1/embeddings``: ``vector_of`` each text; a refusal quotes the text, as servers do."""
    body = request.body
    texts = body["input"]
    for text in texts:
        if not text:
            raise RouteError(400, {"message": "input is an empty string", "type": "invalid_request_error"})
        if server.refuse_marker and server.refuse_marker in text:
            error = {"message": f"cannot take: {text}", "type": "invalid", "code": "content_filter"}
            raise RouteError(server.refuse_status, error)
    dimensions = body.get("dimensions", server.dimensions)
    data = []
    for index, text in enumerate(texts):
        vector = vector_of(text, dimensions)
        is_base64 = server.is_base64 and body.get("encoding_format") == "base64"
        shown = base64.b64encode(vector.astype("<f4").tobytes()).decode() if is_base64 else vector.tolist()
        data.append({"object": "embedding", "index": index, "embedding": shown})
    tokens = sum(len(text.split()) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": body["model"], "data": data, "usage": usage}


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is expected here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else head and body of an answer lie 40 ms apart
    model_server: ModelServer

    def log_message(self, *_: object) -> None:
        """Say nothing on stderr."""

    def finish(self) -> None:
        super().finish()
        self.model_server.hung_up.set()

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        server = self.model_server
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        is_json = headers.get("content-type", "").startswith("application/json")
        request = Request(
            f"{self.command} {self.path}", headers, raw, json.loads(raw) if is_json and raw else {}
        )
        fault = server.arrived(request)
        try:
            self._reply(server, request, fault)
        finally:
            server.left()

    def _reply(self, server: ModelServer, request: Request, fault: Fault) -> None:
        if fault.hang:
            server.wait_for_close()
        if fault.hang or fault.drop == "before":
            self.close_connection = True
            return
        status, answer = 200, b""
        if fault.body is not None:
            answer = fault.body
        elif fault.status is not None:
            status, answer = fault.status, json.dumps({"error": fault.error}).encode()
        else:
            try:
                reply = server.answer(request)
                if fault.alter and isinstance(reply, dict):
                    reply = fault.alter(reply)
                answer = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
            except RouteError as refused:
                status, answer = refused.status, json.dumps({"error": refused.error}).encode()
        self._send(status, answer, fault)

    def _send(self, status: int, answer: bytes, fault: Fault) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        for name, value in fault.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer[: len(answer) // 2] if fault.drop == "midway" else answer)
        self.close_connection = self.close_connection or fault.drop == "midway"
