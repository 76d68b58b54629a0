"""A real Prefect server and worker on loopback, driven over HTTP: the test process never imports Prefect."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

from tests.ports import free_ports

REPOSITORY = Path(__file__).resolve().parents[2]
START_SECONDS = 180.0
RUN_SECONDS = 240.0
BUSY = 503
FINAL = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}

_OPENER = build_opener(ProxyHandler({}))
_SETTINGS = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
    "PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED": "false",
    "PREFECT_SERVER_UI_ENABLED": "false",
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    # schedules are read back, not waited for: no run but those the tests ask for
    "PREFECT_SERVER_SERVICES_SCHEDULER_ENABLED": "false",
    "PREFECT_WORKER_QUERY_SECONDS": "1",
    "PREFECT_LOGGING_TO_API_BATCH_INTERVAL": "0.5",
    "NO_PROXY": "127.0.0.1",
    "no_proxy": "127.0.0.1",
}


@dataclass
class PrefectServer:
    """Where the server listens, and how to call it and its command line."""

    home: Path
    port: int
    lake: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api"

    @property
    def work(self) -> Path:
        """The directory that runs work in."""
        return self.home / "work"

    def environment(self, **extra: str) -> dict[str, str]:
        """Nothing of the caller's Prefect, slowwave or endpoint settings."""
        foreign = ("PREFECT", "SLOWWAVE", "OPENAI")
        kept = {k: v for k, v in os.environ.items() if not k.upper().startswith(foreign)}
        own = {
            "HOME": str(self.home),
            "PREFECT_HOME": str(self.home / "prefect"),
            "PREFECT_API_URL": self.url,
            "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{self.home}/prefect.db",
            "PYTHONPATH": str(REPOSITORY),
            "PWD": str(self.work),
            "SLOWWAVE_LAKE": str(self.lake),
        }
        return {**kept, **_SETTINGS, **own, **extra}

    def start(self, name: str, *arguments: str) -> None:
        """Start ``prefect ARGUMENTS`` in a process group of its own, its output in a file."""
        with self.log(name).open("wb") as output:
            self.processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", "prefect", *arguments],
                    cwd=REPOSITORY,
                    env=self.environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )

    def log(self, name: str) -> Path:
        return self.home / f"{name}.log"

    def command(self, *arguments: str) -> str:
        """Run ``prefect ARGUMENTS`` to its end and give what it printed."""
        return self.python(["-m", "prefect", *arguments])

    def python(self, arguments: Sequence[str], **extra: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=REPOSITORY,
            env=self.environment(**extra),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{arguments}: {done.stdout}\n{done.stderr}"
        return done.stdout

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """One call of the REST API, again where the server says that its SQLite was busy."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        deadline = time.monotonic() + RUN_SECONDS
        while True:
            try:
                with _OPENER.open(request, timeout=60) as answer:
                    return json.loads(answer.read() or b"null")
            except HTTPError as error:
                if error.code != BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(0.5)

    def deployment(self, name: str) -> dict[str, Any]:
        return dict(self.call("GET", f"/deployments/name/slowwave-{name}/{name}"))

    def run(self, name: str, **parameters: Any) -> str:
        """Ask for a run of a deployment; gives its id."""
        identity = self.deployment(name)["id"]
        body = {"parameters": parameters, "idempotency_key": secrets.token_hex(8)}
        return str(self.call("POST", f"/deployments/{identity}/create_flow_run", body)["id"])

    def finished(self, run_id: str) -> dict[str, Any]:
        """The run once it is in a final state."""
        deadline = time.monotonic() + RUN_SECONDS
        while True:
            run = dict(self.call("GET", f"/flow_runs/{run_id}"))
            if run["state"]["type"] in FINAL:
                return run
            assert time.monotonic() < deadline, f"{run['state']}: {self.log('worker').read_text()[-3000:]}"
            time.sleep(0.3)

    def artifacts(self, run_id: str) -> list[dict[str, Any]]:
        body = {"artifacts": {"flow_run_id": {"any_": [run_id]}}}
        return list(self.call("POST", "/artifacts/filter", body))

    def messages(self, run_id: str) -> list[str]:
        body = {"logs": {"flow_run_id": {"any_": [run_id]}}}
        return [entry["message"] for entry in self.call("POST", "/logs/filter", body)]

    def wait(self, what: str, is_there: Any) -> None:
        """Wait for something of the server or worker to come up."""
        deadline = time.monotonic() + START_SECONDS
        while not is_there():
            ended = [p.args for p in self.processes if p.poll() is not None]
            logs = [path.read_text()[-3000:] for path in self.home.glob("*.log")]
            assert not ended, f"{ended} ended: {logs}"
            assert time.monotonic() < deadline, f"{what} did not come: {logs}"
            time.sleep(0.3)

    def answers(self) -> bool:
        try:
            return self.call("GET", "/health") is True
        except (URLError, OSError):
            return False

    def has_worker(self) -> bool:
        try:
            workers = self.call("POST", "/work_pools/slowwave/workers/filter", {})
        except HTTPError:
            return False
        return any(worker["status"] == "ONLINE" for worker in workers)

    def stop(self) -> None:
        """Stop what was started, workers first, with their children."""
        for process in reversed(self.processes):
            _signal(process, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            _signal(process, signal.SIGKILL)
            process.wait(30)


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


@contextmanager
def prefect_server(home: Path) -> Iterator[PrefectServer]:
    """A server with every deployment of ``prefect.yaml`` and a worker that takes their runs."""
    (port,) = free_ports(1)
    server = PrefectServer(home, port, home / "lake")
    server.work.mkdir()
    try:
        server.start("server", "server", "start", "--host", "127.0.0.1", "--port", str(port))
        server.wait("the server", server.answers)
        server.start("worker", "worker", "start", "--pool", "slowwave", "--type", "process")
        server.wait("the worker", server.has_worker)  # it makes the pool, which deploying needs
        server.command("--no-prompt", "deploy", "--all")
        yield server
    finally:
        server.stop()
